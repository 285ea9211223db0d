import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuiltBlock } from '../src/execution/chain/building.ts'
import type { Chain } from '../src/execution/chain/opChain.ts'
import { initChain, openChain } from '../src/execution/index.ts'
import { madeUpL1Block } from '../src/execution/testUtils/l1Block.ts'
import { createMemoryBlock, deposit } from '../src/execution/testUtils/memoryBlock.ts'
import { loadRecordedRpc } from '../src/execution/testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../src/execution/testUtils/signTransaction.ts'
import { createAddress } from '../src/execution/tx/createAddress.ts'
import { bigIntToBytes, concatBytes } from '../src/lib/bytes.ts'
import { systemClock } from '../src/lib/clock.ts'
import { fromHex, type Hex } from '../src/lib/hex.ts'
import { silentLogger } from '../src/lib/logger.ts'
import {
  encodeDepositTx,
  l1InfoDepositTx,
  parseRollupConfig,
  SEQUENCER_FEE_VAULT_ADDRESS,
} from '../src/rollup/protocol/index.ts'
import { type PayloadAttributes, ZERO_HASH } from '../src/rollup/protocol/types.ts'
import { startOwn, startReference } from './engineProgram.ts'
import { compareStateReads } from './stateReads.ts'
import { stateRootMs } from './stateRoot.ts'
import { benchWorstBlocks } from './worstBlocks.ts'

// Work of devium-geth in one second of processor time, in three parts. Whole blocks on a real database are built as by a
// sequencer, and imported as by a verifier. Single EVM programs run beside EthereumJS's opcode loop. Other blocks hold only calls
// of one precompile or opcode.
// Run: node bench/execution.ts [--worst-blocks [--only NAME]]. Exit code 1 if such a block takes more than 2 s of wall time.
// DEVIUM_OP_GETH names an op-geth that imports the same blocks on one core. It reads them by HTTP, while ours gets them in the
// process. Empty blocks go to devium-geth by its Engine API too.
// `taskset -c 0 npm run bench:execution` uses one core. A virtual machine charges for each wake-up of another process, a third of
// an empty block's time.
// With --empty: only empty blocks, on a chain that has no other blocks.
// With --blocks 50000: the memory of devium-geth while this many blocks are built by its Engine API.

/** V8 compiles for some thousands of blocks. The first thousand take twice as long as later ones. */
const EMPTY_BLOCKS = 5_000
const FIRST_BLOCKS = 1_000
/** Target: peak memory while 50,000 empty blocks are built. */
const TARGET_MEGABYTES = 400
const recording = loadRecordedRpc('holocene-span-brotli-calldata')
const rollup = parseRollupConfig(recording.rollup)
const [DEV_ADDRESS] = DEV_ADDRESSES

/** Processor seconds, because other load disturbs them less than wall time. */
async function processorSeconds(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

async function withChain<T>(use: (chain: Chain) => Promise<T>): Promise<T> {
  const datadir = await mkdtemp(join(tmpdir(), 'devium-bench-'))
  await initChain(datadir, recording.genesis)
  const chain = await openChain(datadir, { logger: silentLogger, clock: systemClock })
  try {
    return await use(chain)
  } finally {
    await chain.close()
    await rm(datadir, { recursive: true, force: true })
  }
}

function attributesOn(parent: { number: number; timestamp: number }, transactions: readonly Uint8Array[]) {
  const timestamp = parent.timestamp + 1
  const l1Block = madeUpL1Block(rollup, timestamp, 1)
  const l1Info = l1InfoDepositTx(rollup, rollup.genesis.systemConfig, parent.number, l1Block, timestamp)
  const attributes: PayloadAttributes = {
    timestamp,
    prevRandao: ZERO_HASH,
    suggestedFeeRecipient: SEQUENCER_FEE_VAULT_ADDRESS,
    withdrawals: [],
    parentBeaconBlockRoot: ZERO_HASH,
    transactions: [encodeDepositTx(l1Info), ...transactions],
    noTxPool: true,
    gasLimit: 60_000_000n,
    eip1559Params: '0x0000000000000000',
  }
  return attributes
}

async function build(chain: Chain, transactions: readonly Uint8Array[]): Promise<BuiltBlock> {
  const parent = chain.head()
  const attributes = attributesOn(parent, transactions)
  const job = await chain.startBuild({ parentHash: parent.hash, attributes })
  return job.seal()
}

async function adopt(chain: Chain, { envelope }: BuiltBlock): Promise<void> {
  const status = await chain.importPayload(envelope)
  if (status.status !== 'VALID') throw new Error(`block was refused: ${JSON.stringify(status)}`)
  const { blockHash } = envelope.payload
  await chain.setForkchoice({ headBlockHash: blockHash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH })
}

/** The content of blocks: its transactions, and its unit. */
interface Work {
  name: string
  blocks: Uint8Array[][]
  unit: 'transfers' | 'Mgas'
}

/** Signs all works with consecutive nonces. */
function signed(): Work[] {
  let nonce = 0
  const sign = (fields: { to: Hex | null; gasLimit: bigint; value?: bigint; data?: Uint8Array }) =>
    signTransaction(DEV_KEYS[0], { ...fields, nonce: nonce++, maxFeePerGas: 10_000_000_000n }).raw
  const blocks = (count: number, perBlock: number, make: (index: number) => Uint8Array) =>
    Array.from({ length: count }, (_, block) =>
      Array.from({ length: perBlock }, (_, at) => make(block * perBlock + at)),
    )
  const deploy = (code: string): { to: Hex; raw: Uint8Array } => {
    const bytes = fromHex(`0x${code.replaceAll(' ', '')}`)
    // PUSH2 length, DUP1, PUSH1 12, PUSH1 0, CODECOPY, PUSH1 0, RETURN
    const start = fromHex(`0x61${bytes.length.toString(16).padStart(4, '0')}80600c6000396000f3`)
    const to = createAddress(fromHex(DEV_ADDRESS), BigInt(nonce))
    return { to, raw: sign({ to: null, gasLimit: 3_000_000n, data: concatBytes(start, bytes) }) }
  }
  const [token, store, compute, callee] = [TOKEN, STORE, COMPUTE, '5b00'].map(deploy)
  if (token === undefined || store === undefined || compute === undefined || callee === undefined)
    throw new Error('no code')
  const calls = deploy(`6103e8 5b 6000600060006000 73${callee.to.slice(2)} 5afa 50 6001 90 03 80 6003 57 00`)
  const transfer = (index: number) =>
    sign({ to: `0x${(index + 4096).toString(16).padStart(40, '0')}`, gasLimit: 21_000n, value: 1n })
  const tokenTransfer = (index: number) =>
    sign({ to: token.to, gasLimit: 100_000n, data: concatBytes(wordOf(index + 4096), wordOf(1)) })
  const storing = (index: number) => sign({ to: store.to, gasLimit: 600_000n, data: wordOf(index * 20) })
  const computing = () => sign({ to: compute.to, gasLimit: 1_000_000n })
  const calling = () => sign({ to: calls.to, gasLimit: 1_000_000n })
  const mixed = (index: number) => {
    const kind = index % 20
    if (kind < 10) return tokenTransfer(index + 100_000)
    if (kind < 14) return transfer(index + 100_000)
    if (kind < 18) return storing(index + 100_000)
    return kind === 18 ? computing() : calling()
  }
  return [
    { name: 'contracts', blocks: [[token, store, compute, callee, calls].map(({ raw }) => raw)], unit: 'Mgas' },
    { name: 'transfers', blocks: blocks(24, 500, transfer), unit: 'transfers' },
    { name: 'ERC-20', blocks: blocks(8, 400, tokenTransfer), unit: 'Mgas' },
    { name: '20 fresh slots', blocks: blocks(8, 50, storing), unit: 'Mgas' },
    { name: 'compute', blocks: blocks(8, 50, computing), unit: 'Mgas' },
    { name: 'calls', blocks: blocks(8, 100, calling), unit: 'Mgas' },
    { name: 'mix', blocks: blocks(8, 200, mixed), unit: 'Mgas' },
  ]
}

const wordOf = (value: number) => bigIntToBytes(BigInt(value), 32)
/** An ERC-20-like transfer with Solidity mappings and a log. The caller's balance may become negative. */
const TOKEN =
  '33600052 6000602052 60406000 20 80 54 602035 90 03 90 55' +
  '600035600052 60406000 20 80 54 602035 01 90 55' +
  '602035600052 600035 33 7fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef 60206000 a3 00'
/** Writes twenty slots from the given slot on. */
const STORE = `6000 35 ${'80 80 55 6001 01'.repeat(20)} 00`
/** 256-bit arithmetic and hashing, 2,000 times. */
const COMPUTE = `6107d0 5b 80 7f${'fe'.repeat(32)} 02 7f${'fd'.repeat(32)} 01 600052 60206000 20 50 6001 90 03 80 6003 57 00`

function row(what: string, seconds: number, work: { count: number; unit: string }, beside = ''): void {
  const rate = work.count / seconds
  const shown = rate < 1_000 ? rate.toFixed(1) : Math.round(rate).toString()
  console.log(`${what.padEnd(40)}${shown.padStart(10)} ${`${work.unit}/s`.padEnd(14)}${beside}`)
}

function amountOf({ unit, blocks }: Work, built: readonly BuiltBlock[]): { count: number; unit: string } {
  if (unit === 'transfers') return { count: blocks.flat().length, unit }
  return { count: built.reduce((sum, { block }) => sum + Number(block.header.gasUsed), 0) / 1e6, unit }
}

async function benchBlocks(works: readonly Work[]): Promise<void> {
  const built = new Map<Work, BuiltBlock[]>()
  const idle: Work = { name: 'empty', blocks: Array.from({ length: EMPTY_BLOCKS }, () => []), unit: 'transfers' }
  // Idle comes first. After full blocks their states would be written in its time.
  const all = [idle, ...works]
  await withChain(async (chain) => {
    for (const work of all) {
      const list: BuiltBlock[] = []
      const seconds = await processorSeconds(async () => {
        for (const transactions of work.blocks) {
          const block = await build(chain, transactions)
          if (block.receipts.some(({ status }) => status !== 1)) throw new Error(`${work.name}: a transaction failed`)
          list.push(block)
          await adopt(chain, block)
        }
      })
      built.set(work, list)
      if (work === idle) row('empty, built and made head', seconds, { count: EMPTY_BLOCKS, unit: 'blocks' })
      else if (work.name !== 'contracts') row(`${work.name}, built and made head`, seconds, amountOf(work, list))
    }
  })
  const reference = await startReference(recording.genesis, rollup)
  const own = await startOwn(recording.genesis, rollup)
  const secondsOfReference = new Map<Work, number>()
  try {
    await withChain(async (chain) => {
      for (const work of all) {
        const list = built.get(work) ?? []
        const seconds = await processorSeconds(async () => {
          for (const block of list) await adopt(chain, block)
        })
        const theirs = await reference?.secondsFor(list)
        if (theirs !== undefined) secondsOfReference.set(work, theirs)
        if (work.name === 'contracts') continue
        const beside = theirs === undefined ? '' : `${(theirs / seconds).toFixed(2)}x of op-geth by its Engine API`
        const amount = work === idle ? { count: EMPTY_BLOCKS, unit: 'blocks' } : amountOf(work, list)
        row(`${work.name}, imported in this process`, seconds, amount, beside)
      }
    })
    // Both programs get the block by HTTP, so both times contain HTTP and JSON.
    for (const work of all) {
      const list = built.get(work) ?? []
      const firstSeconds = work === idle ? await own.secondsFor(list.slice(0, FIRST_BLOCKS)) : 0
      const otherSeconds = await own.secondsFor(work === idle ? list.slice(FIRST_BLOCKS) : list)
      if (work.name === 'contracts') continue
      const seconds = firstSeconds + otherSeconds
      const theirs = secondsOfReference.get(work)
      const beside = theirs === undefined ? '' : `${(theirs / seconds).toFixed(2)}x of op-geth`
      const amount = work === idle ? { count: EMPTY_BLOCKS, unit: 'blocks' } : amountOf(work, list)
      row(`${work.name}, imported by the Engine API`, seconds, amount, beside)
      if (work !== idle) continue
      row('  the first thousand of them', firstSeconds, { count: FIRST_BLOCKS, unit: 'blocks' })
      row('  the others', otherSeconds, { count: EMPTY_BLOCKS - FIRST_BLOCKS, unit: 'blocks' })
    }
    console.log(`peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`)
  } finally {
    await reference?.stop()
    await own.stop()
  }
}

const MAIN: Hex = `0x${'aa'.repeat(20)}`
const OTHER: Hex = `0x${'bb'.repeat(20)}`
/** Endless loops. Each runs until its gas is used. */
const PROGRAMS: Record<string, string> = {
  'counting down': '62ffffff 5b 6001 90 03 80 6004 57',
  '256-bit products': `5b 7f${'ff'.repeat(32)} 7f${'fe'.repeat(32)} 02 50 600056`,
  memory: '5b 60ff 600052 600051 50 600056',
  keccak256: '5b 60206000 20 50 600056',
  'storage reads': '5b 600054 50 600056',
  'storage writes': '5b 5a600055 600056',
  calls: `5b 6000600060006000 73${OTHER.slice(2)} 5afa 50 600056`,
}

async function millionGasPerSecond(program: string, gasLimit: bigint, isReference: boolean): Promise<number> {
  const accounts = { [MAIN]: { code: `0x${program.replaceAll(' ', '')}` as Hex }, [OTHER]: { code: '0x5b00' as Hex } }
  const run = async (gas: bigint) => {
    const { execution } = createMemoryBlock({ accounts, block: { gasLimit: 2n * gasLimit }, isReference })
    const { gasUsed } = await execution.add(deposit({ to: MAIN, gasLimit: gas }))
    if (gasUsed !== gas) throw new Error(`program ended early, after ${gasUsed} gas`)
  }
  await run(gasLimit / 10n)
  return Number(gasLimit) / 1e6 / (await processorSeconds(() => run(gasLimit)))
}

async function benchPrograms(): Promise<void> {
  console.log(`\n${'EVM programs, million gas/s'.padEnd(32)}${'devium'.padStart(10)}${'EthereumJS'.padStart(12)}`)
  for (const [name, program] of Object.entries(PROGRAMS)) {
    const ours = await millionGasPerSecond(program, 50_000_000n, false)
    const reference = await millionGasPerSecond(program, 5_000_000n, true)
    console.log(`${name.padEnd(32)}${ours.toFixed(0).padStart(10)}${reference.toFixed(0).padStart(12)}`)
  }
}

/** Returns whether the program stays within its memory target while it builds empty blocks as a sequencer. */
async function benchMemory(count: number): Promise<boolean> {
  const { engine, peakMegabytes, stop } = await startOwn(recording.genesis, rollup)
  try {
    const { hash, number } = rollup.genesis.l2
    let head = { hash, number, timestamp: rollup.genesis.l2Time }
    const startedAt = performance.now()
    for (let done = 1; done <= count; done++) {
      const state = { headBlockHash: head.hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH }
      const { payloadId } = await engine.forkchoiceUpdated(state, attributesOn(head, []))
      if (payloadId === undefined) throw new Error(`block ${done} was not begun`)
      const envelope = await engine.getPayload(payloadId, head.timestamp + 1)
      const { status } = await engine.newPayload(envelope)
      if (status !== 'VALID') throw new Error(`block ${done} is ${status}`)
      head = {
        hash: envelope.payload.blockHash,
        number: envelope.payload.blockNumber,
        timestamp: envelope.payload.timestamp,
      }
      if (done % 10_000 !== 0 && done !== count) continue
      const seconds = (performance.now() - startedAt) / 1000
      console.log(`after ${done} blocks, ${seconds.toFixed(0)} s: at most ${peakMegabytes().toFixed(0)} MB`)
    }
    console.log(`peak memory of devium-geth ${peakMegabytes().toFixed(0)} MB (target ${TARGET_MEGABYTES})`)
    return peakMegabytes() <= TARGET_MEGABYTES
  } finally {
    await stop()
  }
}

async function benchStateRoot(): Promise<void> {
  const { median, most } = await stateRootMs()
  console.log(`state root, 1,000 of 100,000 accounts changed: ${median.toFixed(1)} ms, at most ${most.toFixed(1)} ms`)
}

async function benchStateReads(): Promise<void> {
  const { trie, flat } = await compareStateReads()
  const line = (what: string, of: 'readUs' | 'writeUs') =>
    console.log(`${what}: ${flat[of].toFixed(0)} us flat, ${trie[of].toFixed(0)} us from the tries`)
  line('a token transfer read, one of 100,000 holders, nothing in memory', 'readUs')
  line('the same, written and hashed too', 'writeUs')
}

const blocks = process.argv.indexOf('--blocks')
if (blocks > 0) {
  const isWithin = await benchMemory(Number(process.argv[blocks + 1] ?? 50_000))
  process.exit(isWithin ? 0 : 1)
}
console.log('per second of processor time, one process')
if (process.argv.includes('--empty')) {
  await benchBlocks([])
  process.exit()
}
if (!process.argv.includes('--worst-blocks')) {
  await benchStateRoot()
  await benchStateReads()
  await benchBlocks(signed())
  await benchPrograms()
}
const only = process.argv.indexOf('--only')
if (!(await benchWorstBlocks(only > 0 ? process.argv[only + 1] : ''))) process.exitCode = 1
