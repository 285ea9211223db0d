import { expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import type { HeadChange } from '../chain/types.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import { loadRecordedRpc, recordedBlock } from '../testUtils/recordedRpc.ts'
import { signTransaction, testKey } from '../testUtils/signTransaction.ts'
import { logFilter } from './logs/logFilter.ts'
import { Subscriptions } from './subscriptions.ts'

const head = recordedBlock(loadRecordedRpc('holocene-span-brotli-calldata'), 7).header

function createSubscriptions() {
  let onHead: (change: HeadChange) => void = () => {}
  let onAdded: (transaction: SignedTransaction) => void = () => {}
  const chain = {
    onHead(listener: typeof onHead) {
      onHead = listener
      return () => {}
    },
    receipts: async () => [],
  }
  const pool = {
    onAdded(listener: typeof onAdded) {
      onAdded = listener
      return () => {}
    },
  }
  const subscriptions = new Subscriptions({ chain, pool, logger: silentLogger })
  const moveHead = () => onHead({ head, removed: [], added: [head] })
  return { subscriptions, moveHead, add: (transaction: SignedTransaction) => onAdded(transaction) }
}

it('log subscriptions have a limited number of addresses and topics in all', () => {
  const { subscriptions } = createSubscriptions()
  const address = Array(1000).fill(`0x${'ab'.repeat(20)}`)
  const large = logFilter.parse({ address, topics: Array(4).fill(Array(1000).fill(`0x${'01'.repeat(32)}`)) })
  const [stop] = Array.from({ length: 20 }, () => subscriptions.onLogs(large, () => {}))
  expect(() => subscriptions.onLogs(large, () => {})).toThrow(expect.objectContaining({ rpcCode: -32005 }))
  stop?.()
  subscriptions.onLogs(large, () => {})
})

/** Simulates the time of sending to a client. */
function work(): void {
  const end = performance.now() + 1
  while (performance.now() < end);
}

it.each(['heads', 'transactions'])(
  'many subscribers of %s yield to the event loop, and share the sent bytes',
  async (kind) => {
    const { subscriptions, moveHead, add } = createSubscriptions()
    const listeners = 60
    const contents = new Set<string | Uint8Array>()
    let turns = 0
    await new Promise<void>((resolve) => {
      let notified = 0
      const tick = () => {
        turns += 1
        if (notified < listeners) setImmediate(tick)
      }
      const notify = (content: string | Uint8Array) => {
        contents.add(content)
        work()
        notified += 1
        if (notified === listeners) resolve()
      }
      for (let count = 0; count < listeners; count++) {
        if (kind === 'heads') subscriptions.onHead((content) => notify(content))
        else subscriptions.onTransaction(true, (content) => notify(content))
      }
      if (kind === 'heads') moveHead()
      else add(signTransaction(testKey(1)))
      setImmediate(tick)
    })
    expect(turns).toBeGreaterThan(2)
    expect(contents.size).toBe(1)
  },
)

it('subscriptions of each kind are limited over all connections', () => {
  const { subscriptions } = createSubscriptions()
  const begin = {
    5000: [() => subscriptions.onHead(() => {}), () => subscriptions.onTransaction(false, () => {})],
    1000: [() => subscriptions.onLogs(logFilter.parse({}), () => {})],
  }
  for (const [max, kinds] of Object.entries(begin)) {
    for (const start of kinds) {
      const [stop] = Array.from({ length: Number(max) }, start)
      expect(start).toThrow(expect.objectContaining({ rpcCode: -32000, message: expect.stringContaining(max) }))
      stop?.()
      expect(start).not.toThrow()
    }
  }
})
