import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { JsonObjectReader } from '../../src/rollup/protocol/index.ts'
import type { NodeEndpoints } from './events.ts'
import type { TestnetSetup } from './setup.ts'

/** One that is paused answers nobody; its peers refuse it all the same. */
const LIMIT = { timeoutMs: 2_000 }

type Node = Pick<NodeEndpoints, 'name' | 'rollupRpc'>

const NOTE_OPTIONS = { timeoutMs: 2_000 }

/** The RPC of the rollup nodes, by the nodes' names. Methods have op-node's names, which all of them know. */
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

  /** Peer ids that a node is connected with. Rejects while it does not answer. */
  async peersOf(name: string): Promise<string[]> {
    const answer = await this.get(name).request('opp2p_peers', [true])
    return new JsonObjectReader(answer, 'peers').object('peers').names()
  }

  /** Resolves when the node is connected with the peer at this multiaddress. */
  async connect(name: string, address: string): Promise<void> {
    await this.get(name).request('opp2p_connectPeer', [address])
  }

  /** Refuses a peer, and ends its connections; or lets it connect again. */
  async block(name: string, peerId: string, isBlocked: boolean): Promise<void> {
    const client = this.get(name)
    await client.request(isBlocked ? 'opp2p_blockPeer' : 'opp2p_unblockPeer', [peerId], LIMIT)
    if (isBlocked) await client.request('opp2p_disconnectPeer', [peerId], LIMIT)
  }

  /** So that their pages show it too. A node that does not answer, or is not of ours, keeps no history. */
  note(text: string): void {
    for (const client of this.clients.values()) client.request('devium_note', [text], NOTE_OPTIONS).catch(() => {})
  }

  async close(): Promise<void> {
    await Promise.all([...this.clients.values()].map((client) => client.close()))
  }
}

/** For calls that change something. */
export function bearerOf(token: TestnetSetup['token']): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token.value}` }
}
