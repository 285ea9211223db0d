import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../lib/testUtils/until.ts'
import { compressSnappy } from './base/snappyBlock.ts'
import { MAX_ID_BYTES } from './gossip/rpcShape.ts'
import { type HostileHost, startHostileHost } from './hostile/hostileHost.ts'
import { encodeRpc, frameRpc } from './hostile/rpcCodec.ts'
import { gossiped } from './testUtils/hostileSetup.ts'
import { recordedLog } from './testUtils/recordedLog.ts'
import { TOPIC } from './testUtils/testChain.ts'
import { startTestNode, type TestNode } from './testUtils/testNode.ts'

/** Without scoring, so that no message is dropped by graylisting. */
let node: TestNode
let hostile: HostileHost
const { logger, lines } = recordedLog('debug')
beforeAll(async () => {
  node = await startTestNode({ scoring: 'none' }, { logger })
  hostile = await startHostileHost()
})
afterAll(async () => {
  await hostile.stop()
  await node.node.stop()
})

it('no generated RPC, unchanged or with changed bytes, stops gossip', async () => {
  const gossip = await hostile.join(node.address, [TOPIC])
  const seed = Date.now()
  const topic = fc.oneof(fc.constant(TOPIC), fc.string({ maxLength: 30 }))
  const id = fc.uint8Array({ maxLength: MAX_ID_BYTES })
  const lists = fc.array(fc.array(id, { maxLength: 8 }), { maxLength: 3 })
  const data = fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    fc.uint8Array({ maxLength: 900 }).map(compressSnappy),
    fc.nat(1_000).map((blockNumber) => gossiped({ blockNumber })),
  )
  const rpc = fc.record(
    {
      subscriptions: fc.array(fc.tuple(topic, fc.boolean()), { maxLength: 3 }),
      messages: fc.array(fc.record({ topic, data, from: id, key: id }, { requiredKeys: ['topic'] }), { maxLength: 3 }),
      ihave: lists,
      iwant: lists,
      idontwant: lists,
      graft: fc.array(topic, { maxLength: 3 }),
      prune: fc.array(fc.tuple(topic, fc.maxSafeNat()), { maxLength: 3 }),
      topic,
    },
    { requiredKeys: [] },
  )
  const change = fc.tuple(fc.nat(500), fc.nat(255))
  const frames = fc
    .sample(fc.tuple(rpc, fc.array(change, { maxLength: 3 })), { numRuns: 600, seed })
    .map(([members, changes], index) => {
      const bytes = encodeRpc(members)
      if (index % 2 === 1) for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
      return frameRpc(bytes)
    })
  for (let at = 0; at < frames.length; at += 20) {
    gossip.sendBytes(...frames.slice(at, at + 20))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const last = gossiped({ blockNumber: 77_777 })
  gossip.send({ messages: [{ topic: TOPIC, data: last }] })
  await until('a block behind all that', () => node.received.some(({ payload }) => payload.blockNumber === 77_777))
  const failures = lines.filter((line) => /lvl=error|Handling an RPC failed/.test(line))
  expect(failures, `seed ${seed}`).toEqual([])
  expect(gossip.stream.status).toBe('open')
})
