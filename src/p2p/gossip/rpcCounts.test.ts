import { expect, it } from 'vitest'
import { countSentRpcs } from './rpcCounts.ts'

it('counts sent and dropped RPCs', () => {
  const events: string[] = []
  const sendRpc = countSentRpcs((event) => events.push(event))((peerId) => peerId === 'there')
  expect(sendRpc('there', {})).toBe(true)
  expect(sendRpc('gone', {})).toBe(false)
  expect(events).toEqual(['SEND_RPC', 'DROP_RPC'])
})
