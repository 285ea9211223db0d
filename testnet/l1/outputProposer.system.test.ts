import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, http, parseAbi, zeroHash } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { type Anvil, startAnvil } from '../../test/support/anvil.ts'
import { roles } from '../accounts.ts'
import { ArtifactStore, findContractsPackage } from '../contracts/artifact.ts'
import { l1Addresses, planDeployment } from './contracts.ts'
import { deployContracts, signDeployment } from './deploy.ts'
import { OutputProposer } from './outputProposer.ts'

// All L2 blocks of these tests are in the past.
const genesisTime = Math.floor(Date.now() / 1000) - 60
const parameters = { l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 1, genesisTime, forks: {} }
/** As `planDeployment` sets it: two L1 blocks. */
const INTERVAL = 2
const { L2OutputOracle: oracle } = l1Addresses(roles.owner.address)
const ORACLE_ABI = parseAbi([
  'struct Output { bytes32 outputRoot; uint128 timestamp; uint128 l2BlockNumber; }',
  'function latestBlockNumber() view returns (uint256)',
  'function getL2Output(uint256 index) view returns (Output)',
])

const folder = mkdtempSync(join(tmpdir(), 'devium-proposer-'))
const state = join(folder, 'state.json')
const ANVIL_ARGS = ['--no-mining', '--gas-limit', '100000000', '--chain-id', '900']

let anvil: Anvil
let l1: RpcClient
let stop: AbortController
let running: Promise<void>
let log: string
/** The safe head that the rollup node reports. */
let safe: number
let currentL1: { hash: Hex; number: number }
/** Delay of the block timestamps, in seconds. */
let lateSeconds: number
const requested: number[] = []
/** Each cycle of the proposer begins with one. */
let statusRequests = 0

const read = () => createPublicClient({ transport: http(anvil.url) })
const latest = async () =>
  Number(await read().readContract({ address: oracle, abi: ORACLE_ABI, functionName: 'latestBlockNumber' }))
const l1Block = async () => {
  const { hash, number } = await read().getBlock()
  return { hash, number: Number(number) }
}
const rootOf = (number: number) => toHex(new Uint8Array(32).fill(number))

const rollup: RpcClient = {
  url: 'http://rollup.example',
  request: async (method, [block]) => {
    if (method === 'optimism_syncStatus') {
      statusRequests++
      return { current_l1: currentL1, safe_l2: { number: safe } }
    }
    const number = Number(block)
    requested.push(number)
    return { outputRoot: rootOf(number), blockRef: { timestamp: genesisTime + number + lateSeconds } }
  },
  batch: async () => [],
  close: async () => {},
}

beforeAll(async () => {
  const time = ['--timestamp', String(genesisTime - 1)]
  anvil = await startAnvil({ hardfork: 'cancun', args: [...ANVIL_ARGS, ...time, '--dump-state', state] })
  l1 = createPatientClient({ url: anvil.url })
  const steps = signDeployment(await planDeployment(new ArtifactStore(findContractsPackage()), parameters), 900)
  await deployContracts(l1, steps, parameters, fromHex('0x5b'))
})
afterAll(async () => {
  await l1?.close()
  await anvil?.stop()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  safe = await latest()
  currentL1 = await l1Block()
  lateSeconds = 0
  log = ''
  startProposer()
})
afterEach(async () => {
  stop.abort()
  await running
})

function startProposer(): void {
  stop = new AbortController()
  const logger = createLogger({ level: 'info', format: 'text', color: false, write: (line) => (log += line) })
  const proposer = new OutputProposer(
    { l1, rollup, logger, clock: systemClock },
    { oracle, proposer: roles.proposer, l1ChainId: 900, pollMs: 50 },
  )
  running = proposer.run(stop.signal)
}

it('proposes all due outputs of safe blocks at once, and no others', async () => {
  const before = await latest()
  safe = before + 5 * INTERVAL + 1
  await expect.poll(latest).toBe(before + 5 * INTERVAL)
  const output = await read().readContract({
    address: oracle,
    abi: ORACLE_ABI,
    functionName: 'getL2Output',
    args: [BigInt(before / INTERVAL + 4)],
  })
  const proposed = before + 5 * INTERVAL
  expect(output).toMatchObject({ outputRoot: rootOf(proposed), l2BlockNumber: BigInt(proposed) })
  expect(Math.max(...requested)).toBeLessThanOrEqual(safe)
  safe += INTERVAL
  await expect.poll(latest).toBe(before + 6 * INTERVAL)
  expect(log).toContain(`l2Block=${before + 5 * INTERVAL}`)
  expect(log).not.toContain('lvl=warn')
})

it('is refused by L1 for outputs derived from another L1 chain, and recovers with derivation', async () => {
  const before = await latest()
  currentL1 = { hash: toHex(new Uint8Array(32).fill(0xee)), number: (await l1Block()).number }
  safe = before + INTERVAL
  await expect.poll(() => log).toContain('block hash does not match the hash at the expected height')
  expect(log.match(/lvl=warn/g)).toHaveLength(1)
  expect(await latest()).toBe(before)
  currentL1 = await l1Block()
  await expect.poll(latest).toBe(before + INTERVAL)
  await expect.poll(() => log).toContain('Proposing outputs again')
})

it('waits until the L1 head is later than the block, and until derivation has started', async () => {
  const before = await latest()
  lateSeconds = 1000
  safe = before + INTERVAL
  const seen = requested.length
  await expect.poll(() => requested.length).toBeGreaterThan(seen + 3)
  currentL1 = { hash: zeroHash, number: 0 }
  // The cycle that read the old L1 block is over when the next one begins.
  const cycles = statusRequests
  await expect.poll(() => statusRequests).toBeGreaterThan(cycles)
  lateSeconds = 0
  const { number } = await l1Block()
  await expect.poll(async () => (await l1Block()).number).toBeGreaterThan(number + 1)
  expect(await latest()).toBe(before)
  expect(log).toBe('')
})

it('waits for an L1 block that is newer than the restart of Anvil, whose BLOCKHASH forgets the older ones', async () => {
  stop.abort()
  await running
  await l1.close()
  await anvil.stop()
  anvil = await startAnvil({ hardfork: 'cancun', args: [...ANVIL_ARGS, '--load-state', state] })
  l1 = createPatientClient({ url: anvil.url })
  const before = await latest()
  currentL1 = await l1Block()
  safe = before + INTERVAL
  const seen = requested.length
  startProposer()
  await expect.poll(() => requested.length).toBeGreaterThan(seen + 3)
  expect(await read().getTransactionCount({ address: roles.proposer.address, blockTag: 'pending' })).toBe(
    await read().getTransactionCount({ address: roles.proposer.address }),
  )
  await l1.request('evm_setIntervalMining', [1])
  await expect.poll(async () => (await l1Block()).number).toBeGreaterThan(currentL1.number)
  currentL1 = await l1Block()
  await expect.poll(latest).toBe(before + INTERVAL)
  expect(log).not.toContain('lvl=warn')
})
