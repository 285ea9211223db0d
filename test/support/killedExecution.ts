import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Chain, initChain, openChain } from '../../src/execution/index.ts'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import { DEV_ADDRESSES } from '../../src/execution/testUtils/signTransaction.ts'
import { readWholeState } from '../../src/execution/testUtils/statesOnDisk.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { describeError } from '../../src/lib/errors.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import {
  BASE_FEE_VAULT_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  SEQUENCER_FEE_VAULT_ADDRESS,
} from '../../src/rollup/protocol/constants.ts'

export interface ExecutionKillReport {
  kills: number
  /** Final height of the chain. */
  height: number
  /** Growth in blocks before each kill; 0 if it was killed before its first block. */
  grown: number[]
  /** Number of complete states that were read. */
  states: number
  problems: string[]
  seconds: number
}

const RECORDING = 'holocene-span-brotli-calldata'
const script = fileURLToPath(new URL('../../src/execution/testUtils/crashChild.ts', import.meta.url))
const { genesis } = loadRecordedRpc(RECORDING)
const TOTAL = Object.values(genesis.alloc as Record<string, { balance?: string }>).reduce(
  (sum, { balance }) => sum + BigInt(balance ?? 0),
  0n,
)
const VAULTS = [SEQUENCER_FEE_VAULT_ADDRESS, BASE_FEE_VAULT_ADDRESS, L1_FEE_VAULT_ADDRESS]
const FINALIZED_BELOW = 12
const RECENT_STATES = 8
/** Small limits, so that states are written all the time. With the smallest, each branch starts below the written state. */
const LIMITS = [
  { recentStates: RECENT_STATES, unwrittenBytes: 300_000 },
  { recentStates: RECENT_STATES, unwrittenGas: 3_000_000 },
  { recentStates: RECENT_STATES, unwrittenGas: 300_000 },
]

/**
 * Kills an execution client at random moments while it builds and imports blocks of transfers, with branches. The next run
 * continues from its data. After each kill a copy of the data must open with a complete chain.
 */
export async function executeUnderKills(
  kills: number,
  onKill: (number: number) => void = () => {},
): Promise<ExecutionKillReport> {
  const startedAt = performance.now()
  const root = mkdtempSync(join(tmpdir(), 'devium-killed-'))
  const datadir = join(root, 'data')
  const report: ExecutionKillReport = {
    kills: 0,
    height: 0,
    grown: [],
    states: 0,
    problems: [],
    seconds: 0,
  }
  try {
    await initChain(datadir, genesis)
    for (let kill = 1; kill <= kills; kill++) {
      const limits = LIMITS[kill % LIMITS.length]
      // Every fifth run is killed during its start.
      const reported = await runAndKill(datadir, { limits, isStarting: kill % 5 === 0 })
      const copy = join(root, `copy-${kill}`)
      cpSync(datadir, copy, { recursive: true })
      const before = report.height
      try {
        const chain = await openChain(copy, { logger: silentLogger, clock: systemClock }, { limits: limits ?? {} })
        try {
          await check(chain, reported, report)
        } finally {
          await chain.close()
        }
      } catch (error) {
        report.problems.push(`kill ${kill}: ${describeError(error)}`)
      }
      report.kills = kill
      report.grown.push(report.height - before)
      rmSync(copy, { recursive: true })
      onKill(kill)
    }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
  report.seconds = Math.round((performance.now() - startedAt) / 1000)
  return report
}

interface ReportedHead {
  number: number
  hash: string
}

/** A run that is not killed during its start gets this far. */
const HEADS_BEFORE_KILL = 4

/** Returns the last head that the client reported. */
async function runAndKill(
  datadir: string,
  { limits, isStarting }: { limits: object | undefined; isStarting: boolean },
): Promise<ReportedHead | undefined> {
  const options = JSON.stringify({ limits, finalizedBelow: FINALIZED_BELOW, branchEvery: 17 })
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', script, datadir, RECORDING, options],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let output = ''
  const { promise: began, resolve } = Promise.withResolvers<void>()
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (isStarting || output.split('\n').length > HEADS_BEFORE_KILL) resolve()
  })
  const ended = new Promise<void>((done) => child.on('close', () => done()))
  if (isStarting) await Promise.race([sleep(300 + Math.random() * 700), began, ended])
  else {
    await Promise.race([began, ended])
    await Promise.race([sleep(Math.random() * 1500), ended])
  }
  if (child.exitCode !== null) throw new Error(`the client ended by itself with exit code ${child.exitCode}`)
  child.kill('SIGKILL')
  await ended
  const last = output.split('\n').slice(0, -1).at(-1)?.split(' ')
  return last === undefined ? undefined : { number: Number(last[0]), hash: last[1] ?? '' }
}

async function check(chain: Chain, reported: ReportedHead | undefined, report: ExecutionKillReport): Promise<void> {
  const head = chain.head()
  const problem = (text: string) => report.problems.push(`head ${head.number} ${head.hash}: ${text}`)
  // A head that was being set at the kill may be one block later, or start a branch three blocks below.
  if (
    reported !== undefined &&
    head.hash !== reported.hash &&
    head.number !== reported.number + 1 &&
    head.number !== reported.number - 2
  ) {
    problem(`the client had reported ${reported.number} ${reported.hash}`)
  }
  const flatBalances = await balancesOf(chain, head.hash)
  if (flatBalances !== TOTAL) problem(`balances read flat come to ${flatBalances}, not to ${TOTAL}`)
  const oldest = Math.max(Math.min(chain.finalized()?.number ?? 0, head.number - RECENT_STATES + 1), 0)
  let header = head
  while (header.number > oldest) {
    if ((await chain.headerByNumber(header.number))?.hash !== header.hash) problem(`${header.number} is not canonical`)
    if ((await chain.receipts(header.hash)) === undefined) problem(`no receipts of ${header.number}`)
    if (header === head || header.number === oldest + 1) {
      const view = chain.chainReads().stateAt(header.hash)
      if (view === undefined) return void problem(`no state of ${header.number}`)
      const { balances } = readWholeState(view, header.stateRoot)
      report.states++
      if (balances !== TOTAL) problem(`balances of ${header.number} come to ${balances}, not to ${TOTAL}`)
    } else if ((await chain.stateAt(header.hash)) === undefined) problem(`no state of ${header.number}`)
    const parent = await chain.headerByHash(header.parentHash)
    if (parent === undefined) return void problem(`no parent of ${header.number}`)
    header = parent
  }
  report.height = head.number
}

/** Wei of all accounts, read one by one: genesis accounts, vaults, and the recipients, which nonces number. */
async function balancesOf(chain: Chain, hash: Hex): Promise<bigint> {
  const state = await chain.stateAt(hash)
  const sender = await state?.account(DEV_ADDRESSES[0])
  const known = [...Object.keys(genesis.alloc as object), ...VAULTS].map((text) =>
    BigInt(`0x${text.replace('0x', '')}`),
  )
  const recipients = Array.from({ length: Number(sender?.nonce ?? 0n) }, (_, index) => BigInt(index + 1))
  let sum = 0n
  for (const address of new Set([...known, ...recipients])) {
    sum += (await state?.account(`0x${address.toString(16).padStart(40, '0')}`))?.balance ?? 0n
  }
  return sum
}
