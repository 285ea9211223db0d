import { expect, it } from 'vitest'
import { countSentRpcs } from './rpcCounts.ts'

it('counts what was sent, and what could not be', () => {
  const counts: Record<string, number> = {}
  const around = countSentRpcs((event, count) => {
    counts[event] = (counts[event] ?? 0) + count
  })
  const sendRpc = around.sendRpc((peerId) => peerId === 'there')
  const sendRpcInBatch = around.sendRpcInBatch((peers) => void peers.delete('gone'))
  expect(sendRpc('there', {})).toBe(true)
  expect(sendRpc('gone', {})).toBe(false)
  const peers = new Set(['there', 'here', 'gone'])
  sendRpcInBatch(peers, {})
  expect([...peers]).toEqual(['there', 'here'])
  expect(counts).toEqual({ SEND_RPC: 3, DROP_RPC: 2 })
})
