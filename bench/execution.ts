import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuiltBlock, Chain } from '../src/execution/chain/types.ts'
import { initChain, openChain } from '../src/execution/index.ts'
import { madeUpL1Block } from '../src/execution/testUtils/l1Block.ts'
import { createMemoryBlock, deposit } from '../src/execution/testUtils/memoryBlock.ts'
import { loadRecordedRpc } from '../src/execution/testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../src/execution/testUtils/signTransaction.ts'
import { systemClock } from '../src/lib/clock.ts'
import type { Hex } from '../src/lib/hex.ts'
import { silentLogger } from '../src/lib/logger.ts'
import {
  encodeDepositTx,
  l1InfoDepositTx,
  parseRollupConfig,
  SEQUENCER_FEE_VAULT_ADDRESS,
} from '../src/rollup/protocol/index.ts'
import { ZERO_HASH } from '../src/rollup/protocol/types.ts'
import { benchWorstBlocks } from './worstBlocks.ts'

// What devium-geth does in a second of processor time: whole blocks, built and imported on a real database (what a
// sequencer and a verifier do), single EVM programs, beside EthereumJS's own opcode loop, and blocks of nothing but calls
// of one precompile. Run: node bench/execution.ts [--worst-blocks]; exit code 1 when such a block takes longer than 2 s.

const EMPTY_BLOCKS = 300
const TRANSFER_BLOCKS = 8
const TRANSFERS_PER_BLOCK = 500
const recording = loadRecordedRpc('holocene-span-brotli-calldata')
const rollup = parseRollupConfig(recording.rollup)

/** Processor seconds, which other programs on the machine disturb less than the time on the wall. */
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

async function build(chain: Chain, transactions: readonly Uint8Array[]): Promise<BuiltBlock> {
  const parent = chain.head()
  const timestamp = parent.timestamp + 1
  const l1Block = madeUpL1Block(rollup, timestamp, 1)
  const l1Info = l1InfoDepositTx(rollup, rollup.genesis.systemConfig, parent.number, l1Block, timestamp)
  const job = await chain.startBuild({
    parentHash: parent.hash,
    version: 3,
    attributes: {
      timestamp,
      prevRandao: ZERO_HASH,
      suggestedFeeRecipient: SEQUENCER_FEE_VAULT_ADDRESS,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO_HASH,
      transactions: [encodeDepositTx(l1Info), ...transactions],
      noTxPool: true,
      gasLimit: 60_000_000n,
      eip1559Params: '0x0000000000000000',
    },
  })
  return job.seal()
}

async function adopt(chain: Chain, { envelope }: BuiltBlock): Promise<void> {
  const status = await chain.importPayload(envelope)
  if (status.status !== 'VALID') throw new Error(`block was refused: ${JSON.stringify(status)}`)
  const { blockHash } = envelope.payload
  await chain.setForkchoice({ headBlockHash: blockHash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH })
}

function transfers(): Uint8Array[][] {
  return Array.from({ length: TRANSFER_BLOCKS }, (_, block) =>
    Array.from({ length: TRANSFERS_PER_BLOCK }, (_, index) => {
      const nonce = block * TRANSFERS_PER_BLOCK + index
      const to: Hex = `0x${(nonce + 4096).toString(16).padStart(40, '0')}`
      return signTransaction(DEV_KEYS[0], { nonce, to, value: 1n, maxFeePerGas: 10_000_000_000n }).raw
    }),
  )
}

async function benchBlocks(): Promise<void> {
  const lists = transfers()
  const built: BuiltBlock[] = []
  const row = (what: string, seconds: number, count: number, unit: string) =>
    console.log(
      `${what.padEnd(44)}${Math.round(count / seconds)
        .toString()
        .padStart(8)} ${unit}`,
    )
  const run = async (chain: Chain, work: readonly (readonly Uint8Array[])[]) => {
    for (const list of work) {
      const block = await build(chain, list)
      built.push(block)
      await adopt(chain, block)
    }
  }
  const head = await withChain(async (chain) => {
    await run(
      chain,
      Array.from({ length: 20 }, () => []),
    )
    const empty = Array.from({ length: EMPTY_BLOCKS }, () => [])
    row('empty blocks, built and made head', await processorSeconds(() => run(chain, empty)), EMPTY_BLOCKS, 'blocks/s')
    const count = TRANSFER_BLOCKS * TRANSFERS_PER_BLOCK
    row('transfers, built and made head', await processorSeconds(() => run(chain, lists)), count, 'transfers/s')
    return chain.head().hash
  })
  await withChain(async (chain) => {
    const importAll = async (blocks: readonly BuiltBlock[]) => {
      for (const block of blocks) await adopt(chain, block)
    }
    await importAll(built.slice(0, 20))
    const empty = built.slice(20, 20 + EMPTY_BLOCKS)
    row('empty blocks, imported', await processorSeconds(() => importAll(empty)), EMPTY_BLOCKS, 'blocks/s')
    const full = built.slice(20 + EMPTY_BLOCKS)
    const count = TRANSFER_BLOCKS * TRANSFERS_PER_BLOCK
    row('transfers, imported', await processorSeconds(() => importAll(full)), count, 'transfers/s')
    if (chain.head().hash !== head) throw new Error('importing gave another head than building')
  })
}

const MAIN: Hex = `0x${'aa'.repeat(20)}`
const OTHER: Hex = `0x${'bb'.repeat(20)}`
/** Endless loops: each runs until its gas is used up. */
const PROGRAMS: Record<string, string> = {
  'counting down': '62ffffff 5b 6001 90 03 80 6004 57',
  '256-bit products': `5b 7f${'ff'.repeat(32)} 7f${'fe'.repeat(32)} 02 50 600056`,
  memory: '5b 60ff 600052 600051 50 600056',
  keccak256: '5b 60206000 20 50 600056',
  'storage reads': '5b 600054 50 600056',
  'storage writes': '5b 5a600055 600056',
  calls: `5b 6000600060006000 73${OTHER.slice(2)} 5afa 50 600056`,
}

async function millionGasPerSecond(program: string, gasLimit: bigint, usesReferenceLoop: boolean): Promise<number> {
  const accounts = { [MAIN]: { code: `0x${program.replaceAll(' ', '')}` as Hex }, [OTHER]: { code: '0x5b00' as Hex } }
  const run = async (gas: bigint) => {
    const { execution } = createMemoryBlock({ accounts, block: { gasLimit: 2n * gasLimit } })
    execution.env.evm.evm.usesReferenceLoop = usesReferenceLoop
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

console.log('per second of processor time, one process')
if (!process.argv.includes('--worst-blocks')) {
  await benchBlocks()
  await benchPrograms()
}
if (!(await benchWorstBlocks())) process.exitCode = 1
