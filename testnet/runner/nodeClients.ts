import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { JsonObjectReader } from '../../src/rollup/protocol/index.ts'
import type { NodeEndpoints } from './events.ts'
import type { TestnetSetup } from './setup.ts'

/** A paused node does not answer. Its peers still block the other side, and it gets no note. */
const LIMIT = { timeoutMs: 2_000 }

type Node = Pick<NodeEndpoints, 'name' | 'rollupRpc'>

/** The RPC clients of the rollup nodes, by node name. Method names are op-node's, which all rollup nodes serve. */
export class NodeClients {
  private readonly clients = new Map<string, RpcClient>()
  private readonly token: TestnetSetup['token']

  constructor(nodes: readonly Node[], token: TestnetSetup['token']) {
    this.token = token
    for (const node of nodes) this.add(node)
  }

  add({ name, rollupRpc }: Node): void {
    this.clients.set(name, createRpcClient({ url: rollupRpc, headers: bearerOf(this.token) }))
  }

  get(name: string): RpcClient {
    const client = this.clients.get(name)
    if (client === undefined) throw new RangeError(`there is no node ${name}`)
    return client
  }

  async remove(name: string): Promise<void> {
    await this.get(name).close()
    this.clients.delete(name)
  }

  /** Peer ids of a node's connections. Rejects if the node does not answer. */
  async peersOf(name: string): Promise<string[]> {
    const answer = await this.get(name).request('opp2p_peers', [true])
    return new JsonObjectReader(answer, 'peers').object('peers').names()
  }

  /** Resolves when the node is connected to the peer at this multiaddress. */
  async connect(name: string, address: string): Promise<void> {
    await this.get(name).request('opp2p_connectPeer', [address])
  }

  /** Blocks a peer and closes its connections, or unblocks it. */
  async block(name: string, peerId: string, isBlocked: boolean): Promise<void> {
    const client = this.get(name)
    await client.request(isBlocked ? 'opp2p_blockPeer' : 'opp2p_unblockPeer', [peerId], LIMIT)
    if (isBlocked) await client.request('opp2p_disconnectPeer', [peerId], LIMIT)
  }

  /**
   * Adds a note to the nodes' histories, so that their pages show it. A node that does not answer or is third-party gets none.
   */
  note(text: string): void {
    for (const client of this.clients.values()) client.request('devium_note', [text], LIMIT).catch(() => {})
  }

  async close(): Promise<void> {
    await Promise.all([...this.clients.values()].map((client) => client.close()))
  }
}

/** The authorization header for calls that change something. */
export function bearerOf(token: TestnetSetup['token']): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token.value}` }
}
