import { expect, it } from 'vitest'
import { parsePeerId } from '../host/multiaddrs.ts'
import { countRpcs } from './rpcCounts.ts'

const PEER = parsePeerId('16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8')

it('counts what was sent, what could not be, and what came in', async () => {
  const counts: Record<string, number> = {}
  const target: Parameters<typeof countRpcs>[0] = {
    handleReceivedRpc: async () => {},
    sendRpc: (peerId: string) => peerId === 'there',
    sendRpcInBatch: (peers: Set<string>) => void peers.delete('gone'),
  }
  countRpcs(target, (event, count) => {
    counts[event] = (counts[event] ?? 0) + count
  })
  await target.handleReceivedRpc(PEER, {})
  expect(target.sendRpc('there', {})).toBe(true)
  expect(target.sendRpc('gone', {})).toBe(false)
  const peers = new Set(['there', 'here', 'gone'])
  target.sendRpcInBatch(peers, {})
  expect([...peers]).toEqual(['there', 'here'])
  expect(counts).toEqual({ RECV_RPC: 1, SEND_RPC: 3, DROP_RPC: 2 })
})
