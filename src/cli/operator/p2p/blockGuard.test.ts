import { describe, expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../../jsonRpc/server.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { createNodeClient, type NodeClient } from '../../../rpc/client/index.ts'
import { PEER_A, PEER_B, scoreReport, term } from '../../testUtils/peerAnswers.ts'
import { questionBeforeBlock } from './blockGuard.ts'

const peerAt = (peerID: string, ip: string, traits: { static?: true; protected?: true } = {}) =>
  scoreReport({
    peerID,
    ...traits,
    ipColocation: {
      score: 0,
      parts: [{ ip, peers: [peerID], threshold: 10, exempt: false, exemptBy: null, ...term(0, -5) }],
    },
  })

const SELF = { addresses: ['/ip4/198.51.100.7/tcp/9222', '/ip6/2001:db8::7/tcp/9222', '/dns4/x/tcp/1'] }

/** A client of a node that listens on two addresses. */
async function nodeWith(peers: ReturnType<typeof peerAt>[]): Promise<NodeClient> {
  const methods = new Map<string, RpcHandler>([
    ['deviump2p_peerScore', () => peers],
    ['deviump2p_self', () => SELF],
  ])
  const server = await serveApp(createRpcApp({ dispatcher: createRpcDispatcher({ methods }) }), '127.0.0.1', 0, 'test')
  const node = createNodeClient({ url: server.url })
  onTestFinished(async () => {
    await node.close()
    await server.close()
  })
  return node
}

const plain = [peerAt(PEER_A, '203.0.113.5'), peerAt(PEER_B, '203.0.113.77')]
const guarded = [peerAt(PEER_A, '203.0.113.5', { static: true }), peerAt(PEER_B, '203.0.113.77', { protected: true })]

describe('confirmation of a block', () => {
  it.each([
    ['0.0.0.0/0', plain, '0.0.0.0/0 covers all IPv4 addresses. Blocking it disconnects 2 of 2 connected peers.'],
    ['202.0.0.0/7', plain, '202.0.0.0/7 is wider than a /8. Blocking it disconnects 2 of 2 connected peers.'],
    ['::/0', plain, '::/0 covers all IPv6 addresses. Blocking it disconnects 0 of 2 connected peers.'],
    ['2000::/3', [], '2000::/3 is wider than a /16. Blocking it disconnects 0 of 0 connected peers.'],
    ['203.0.113.0/24', guarded, 'Blocking it disconnects 2 of 2 connected peers, 2 of them static or protected.'],
    ['203.0.113.5', guarded, 'Blocking it disconnects 1 of 2 connected peers, 1 of them static or protected.'],
    [
      '198.51.100.7',
      [peerAt(PEER_A, '198.51.100.7')],
      '198.51.100.7 is also an address of this node. Blocking it disconnects 1 of 1 connected peer.',
    ],
  ])('is required for %s, with its consequences', async (subject, peers, question) => {
    expect(await questionBeforeBlock(await nodeWith(peers), subject)).toBe(question)
  })

  it.each(['203.0.113.0/24', '203.0.113.5', '10.0.0.0/8', '2001:db8::/32', PEER_A, 'nonsense', '1.2.3.4/99'])(
    'is not required for %s',
    async (subject) => {
      expect(await questionBeforeBlock(await nodeWith(plain), subject)).toBeUndefined()
    },
  )

  it.each(['198.51.100.7', '2001:db8::7', '198.51.100.7/32'])(
    '%s is refused, because only the node itself has the address',
    async (own) => {
      await expect(questionBeforeBlock(await nodeWith(plain), own)).rejects.toThrow(errorWith('usage', own))
    },
  )
})
