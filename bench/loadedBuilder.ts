import { setTimeout as delay } from 'node:timers/promises'
import { BlockDriver } from '../src/execution/testUtils/blockDriver.ts'
import { startExecutionNode } from '../src/execution/testUtils/executionNode.ts'
import { loadRecordedRpc } from '../src/execution/testUtils/recordedRpc.ts'
import { signTransaction, testAddress, testKey } from '../src/execution/testUtils/signTransaction.ts'
import { systemClock } from '../src/lib/clock.ts'
import type { Hex } from '../src/lib/hex.ts'
import { watchLoop } from './loopWatch.ts'
import { WORST_CALLEES, worstLoads } from './worstBlocks.ts'

// Punctuality of a sequencer under the worst loads. Each load is in the pool as a transaction that uses the block's gas. Payloads
// start one second before the block's time and are requested at it, through the Engine API. Prints the delay until the block is
// available and is the head, and the longest event loop iteration in processor time. The garbage collector has the program's
// limits.
// Run: npm run bench:loaded-builder [NAME]. Exit code 1 if a block is later than half its block time.

const BLOCK_MS = 1_000
const GAS = 28_000_000n
const only = process.argv[2] ?? ''
const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
// The chain's fork has no BLS12-381.
const loads = worstLoads().filter(
  ({ id, isOnDisk, fork }) => id.includes(only) && !id.startsWith('BLS') && !isOnDisk && fork === undefined,
)
const accountOf = (index: number): Hex => `0x${(0xabc00000 + index).toString(16).padStart(40, '0')}`
const alloc: Record<string, object> = {}
for (const [address, { code }] of Object.entries(WORST_CALLEES)) alloc[address] = { balance: '0x0', code }
for (const [index, { code, accounts = {} }] of loads.entries()) {
  alloc[accountOf(index)] = { balance: '0xde0b6b3a7640000', code }
  alloc[testAddress(index + 1)] = { balance: '0x56bc75e2d63100000' }
  for (const [address, account] of Object.entries(accounts)) alloc[address] = { balance: '0x0', code: account.code }
}
const before = genesis as { alloc: Record<string, object> }
const node = await startExecutionNode({ ...before, alloc: { ...before.alloc, ...alloc } }, { clock: systemClock })
const driver = new BlockDriver(node.engine, rollup)
const iterations = watchLoop()
let worstMs = 0
for (const [index, { id, input }] of loads.entries()) {
  const fields = { to: accountOf(index), gasLimit: GAS, maxFeePerGas: 30_000_000_000n }
  const { raw } = signTransaction(testKey(index + 1), { ...fields, ...(input === undefined ? {} : { data: input }) })
  await node.eth.request('eth_sendRawTransaction', [`0x${Buffer.from(raw).toString('hex')}`])
  iterations.reset()
  let dueAt = 0
  const payload = await driver.build({
    meanwhile: async () => {
      dueAt = performance.now() + BLOCK_MS
      await delay(BLOCK_MS)
    },
  })
  const lateMs = performance.now() - dueAt
  worstMs = Math.max(worstMs, lateMs)
  const count = Array.isArray(payload.transactions) ? payload.transactions.length - 1 : 0
  console.log(
    `${id.padEnd(42)}${count > 0 ? 'taken   ' : 'left out'}  late ${lateMs.toFixed(0).padStart(5)} ms  longest turn ${iterations.longest().toFixed(1)} ms`,
  )
}
iterations.stop()
await node.close()
console.log(`latest: ${worstMs.toFixed(0)} ms`)
process.exitCode = worstMs <= BLOCK_MS / 2 ? 0 : 1
