import type { Endpoints } from '../runner/events.ts'
import type { NodeClients } from '../runner/nodeClients.ts'
import type { Pair } from './peerLinks.ts'

/**
 * Pairs of nodes that block each other by RPC. Third-party rollup nodes announce their real listening port, so peers can connect
 * without the proxy. Each side of a pair therefore blocks the other.
 */
export class PeerBlocks {
  private readonly clients: Pick<NodeClients, 'block'>
  private readonly endpoints: Pick<Endpoints, 'nodes'>
  private pairs: readonly Pair[] = []

  constructor(clients: Pick<NodeClients, 'block'>, endpoints: Pick<Endpoints, 'nodes'>) {
    this.clients = clients
    this.endpoints = endpoints
  }

  /** Blocks exactly these pairs. Returns the pairs that may connect again. */
  async set(pairs: readonly Pair[]): Promise<Pair[]> {
    const isAmong = (all: readonly Pair[], [one, other]: Pair) =>
      all.some((pair) => pair[0] === one && pair[1] === other)
    const freed = this.pairs.filter((pair) => !isAmong(pairs, pair))
    this.pairs = pairs
    await Promise.all(pairs.map((pair) => this.block(pair, true)))
    await Promise.all(freed.map((pair) => this.block(pair, false)))
    return freed
  }

  /** Blocks on both sides. If one side does not answer or was removed, the other side still blocks it. */
  private async block([one, other]: Pair, isBlocked: boolean): Promise<void> {
    const [idOfOne, idOfOther] = [one, other].map(
      (name) => this.endpoints.nodes.find((node) => node.name === name)?.peerId,
    )
    if (idOfOne === undefined || idOfOther === undefined) return
    await Promise.allSettled([
      this.clients.block(one, idOfOther, isBlocked),
      this.clients.block(other, idOfOne, isBlocked),
    ])
  }
}
