/**
 * What hostile peers do to a follower while blocks come: each offence as an attack of some seconds, sustained by a new
 * identity whenever the old one is banned. Three processes: sequencer with a second follower, victim, attacker.
 *
 *   node bench/hostile.ts [--seconds=4] [name …]
 *
 * Prints for each attack the time from publishing to arrival at the victim (p50, p99, and p99 relative to the calm
 * before), at the other follower, the victim's event-loop delay and memory, and when the attacker was banned first.
 */
import { fork } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { SEQUENCER_KEY, testBlock, testConfig } from '../src/p2p/testUtils/testChain.ts'
import { startTestNode, until } from '../src/p2p/testUtils/testNode.ts'
import { ATTACKS, runAttacker } from './hostile/attacks.ts'

const BLOCK_EVERY_MS = 20
const CALM_MS = 5_000

interface VictimReport {
  rssMb: number
  peakRssMb: number
  heapMb: number
  delayP99Ms: number
  delayMaxMs: number
  bans: string[]
  firstBanAtMs: number | undefined
  offences: string[]
}

type ToVictim = { kind: 'start'; sequencer: string } | { kind: 'reset' } | { kind: 'report' }
type FromVictim =
  | { kind: 'ready'; address: string }
  | { kind: 'block'; number: number; atMs: number }
  | { kind: 'report'; report: VictimReport }
  | { kind: 'reset' }

const now = (): number => performance.timeOrigin + performance.now()

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { role: { type: 'string' }, seconds: { type: 'string', default: '4' } },
  })
  if (values.role === 'victim') return runVictim()
  if (values.role === 'attacker') return runAttacker()
  const names = Object.keys(ATTACKS).filter((name) => positionals.length === 0 || positionals.includes(name))
  if (names.length === 0) throw new Error(`no such attack; known: ${Object.keys(ATTACKS).join(', ')}`)
  await measure(names, Number(values.seconds) * 1_000)
}

/** The follower that is attacked. */
async function runVictim(): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  let victim: Awaited<ReturnType<typeof startTestNode>> | undefined
  let peakRss = 0
  let resetAtMs = 0
  let knownBans = new Set<string>()
  let firstBanAtMs: number | undefined
  const bans = async (): Promise<string[]> =>
    ((await victim?.node.bans()) ?? []).map(({ subject }) => subject).filter((subject) => !knownBans.has(subject))
  setInterval(async () => {
    peakRss = Math.max(peakRss, process.memoryUsage.rss())
    if (firstBanAtMs === undefined && (await bans()).length > 0) firstBanAtMs = now()
  }, 20)
  const send = (message: FromVictim): void => void process.send?.(message)
  process.on('message', async (message: ToVictim) => {
    if (message.kind === 'start') {
      const started = await startTestNode({ staticPeers: [message.sequencer] })
      victim = started
      started.node.onPayload(({ payload }) => send({ kind: 'block', number: payload.blockNumber, atMs: now() }))
      delay.enable()
      send({ kind: 'ready', address: started.address })
    } else if (message.kind === 'reset') {
      knownBans = new Set([...knownBans, ...(await bans())])
      globalThis.gc?.()
      peakRss = 0
      resetAtMs = Date.now()
      firstBanAtMs = undefined
      delay.reset()
      send({ kind: 'reset' })
    } else {
      const delays = { delayP99Ms: delay.percentile(99) / 1e6, delayMaxMs: delay.max / 1e6 }
      const histories = (await victim?.node.peerHistory()) ?? []
      const banned = await bans()
      const offences = new Set<string>()
      for (const { events } of histories) {
        for (const { kind, reason, lastMs } of events) {
          const isRecent = lastMs >= resetAtMs
          if (isRecent && (kind === 'behaviour' || kind === 'reject')) offences.add(reason)
        }
      }
      globalThis.gc?.()
      const memory = process.memoryUsage()
      const mb = (bytes: number): number => Math.round(bytes / 1e6)
      send({
        kind: 'report',
        report: {
          ...delays,
          rssMb: mb(memory.rss),
          peakRssMb: mb(peakRss),
          heapMb: mb(memory.heapUsed + memory.external),
          bans: banned,
          firstBanAtMs,
          offences: [...offences],
        },
      })
    }
  })
  process.on('disconnect', () => process.exit())
}

async function measure(names: readonly string[], attackMs: number): Promise<void> {
  const config = testConfig('holocene')
  const sequencer = await startTestNode({ sequencerKey: SEQUENCER_KEY })
  const other = await startTestNode({ staticPeers: [sequencer.address] })
  const execArgv = ['--disable-warning=ExperimentalWarning', '--expose-gc']
  const victim = fork(import.meta.filename, ['--role=victim'], { execArgv, serialization: 'advanced' })
  const attacker = fork(import.meta.filename, ['--role=attacker'], { execArgv, serialization: 'advanced' })
  // It has its own machine in life.
  if (attacker.pid !== undefined) setPriority(attacker.pid, constants.priority.PRIORITY_LOW)

  const published = new Map<number, number>()
  let atVictim: number[] = []
  let atOther: number[] = []
  let missing = new Set<number>()
  const waiters = new Map<string, (message: FromVictim) => void>()
  victim.on('message', (message: FromVictim) => {
    if (message.kind === 'block') {
      const sentMs = published.get(message.number)
      if (sentMs !== undefined) atVictim.push(message.atMs - sentMs)
      missing.delete(message.number)
    } else {
      waiters.get(message.kind)?.(message)
      waiters.delete(message.kind)
    }
  })
  const ask = <K extends FromVictim['kind']>(message: ToVictim, kind: K) =>
    new Promise<Extract<FromVictim, { kind: K }>>((resolve) => {
      waiters.set(kind, (answer) => resolve(answer as Extract<FromVictim, { kind: K }>))
      victim.send(message)
    })
  other.node.onPayload(({ payload }) => {
    const sentMs = published.get(payload.blockNumber)
    if (sentMs !== undefined) atOther.push(now() - sentMs)
  })

  const { address } = await ask({ kind: 'start', sequencer: sequencer.address }, 'ready')
  await until('the mesh', () => sequencer.node.meshSize() === 2)

  let number = 0
  const publish = (): void => {
    number += 1
    const block = testBlock(config, { blockNumber: number, transactions: [new Uint8Array(3_000).fill(number)] })
    published.set(number, now())
    missing.add(number)
    void sequencer.node.publish(block)
  }
  const run = async (durationMs: number) => {
    await ask({ kind: 'reset' }, 'reset')
    atVictim = []
    atOther = []
    missing = new Set()
    const startMs = now()
    const interval = setInterval(publish, BLOCK_EVERY_MS)
    await pause(durationMs)
    clearInterval(interval)
    // What is under way arrives, or is missed.
    await until('the last blocks', () => missing.size === 0, 3_000).catch(() => {})
    const { report } = await ask({ kind: 'report' }, 'report')
    return { startMs, report, missed: missing.size, victim: quantiles(atVictim), other: quantiles(atOther) }
  }

  await run(2_000)
  const calm = await run(CALM_MS)
  print([
    'attack',
    'victim p50',
    'p99',
    '× p99',
    'missed',
    'other p99',
    'loop p99',
    'loop max',
    'RSS',
    'peak',
    'heap',
    'banned after',
    'offences',
  ])
  const row = (name: string, { startMs, report, missed, victim: v, other: o }: Awaited<ReturnType<typeof run>>): void =>
    print([
      name,
      ms(v.p50),
      ms(v.p99),
      (v.p99 / calm.victim.p99).toFixed(2),
      String(missed),
      ms(o.p99),
      ms(report.delayP99Ms),
      ms(report.delayMaxMs),
      `${report.rssMb}`,
      `${report.peakRssMb}`,
      `${report.heapMb}`,
      report.firstBanAtMs === undefined
        ? '–'
        : `${((report.firstBanAtMs - startMs) / 1_000).toFixed(1)} s (${report.bans.length})`,
      report.offences.join(' '),
    ])
  row('(calm)', calm)
  for (const name of names) {
    attacker.send({ kind: 'attack', name, address })
    const result = await run(attackMs)
    const stopped = new Promise((resolve) => attacker.once('message', resolve))
    attacker.send({ kind: 'stop' })
    await stopped
    row(name, result)
    await pause(1_000)
  }
  row('(calm again)', await run(CALM_MS))
  victim.disconnect()
  attacker.disconnect()
  await Promise.all([sequencer.node.stop(), other.node.stop()])
}

function quantiles(values: readonly number[]): { p50: number; p99: number } {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

const WIDTHS = [22, 11, 7, 6, 7, 10, 9, 9, 5, 5, 5, 13, 0]
function print(cells: readonly string[]): void {
  console.log(cells.map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0)).join(' '))
}

function ms(value: number): string {
  return value.toFixed(1)
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs))
}

await main()
