/**
 * The effect of hostile peers on a follower while blocks arrive. There are three processes: the sequencer with two more
 * followers, the victim, and the attacker. The attacker gets only the CPU time that the others leave. An attack continues with a
 * new identity whenever the old one is dropped. Each attack stands between calm windows, and all attacks alternate in each round.
 *
 *   node bench/hostile.ts [--rounds=3] [--seconds=4] [--calm=1.5] [--profile=DIRECTORY] [name …]
 *
 * For each attack it prints the time from publishing to arrival at the victim, as medians of the rounds. The columns are p50,
 * p99, and p99 relative to the calm windows of the same round, with its minimum and maximum. `pooled` is p99 over all rounds
 * relative to that of all calm windows. `behind` is the same at a follower that gets blocks only from the victim. `other` is the
 * same at a follower without a connection to the victim, which shows the machine's share. There is no network between the
 * processes. The delay that an attack adds is the difference in milliseconds. Relative to a real network's delay it is less.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { formatTable } from '../src/cli/shared/table.ts'
import type { AttackReport } from '../src/p2p/hostile/wage.ts'
import { median, quantile } from './figures.ts'
import { runAttacker, startAttacker } from './hostile/attacker.ts'
import { ATTACKS } from './hostile/attacks.ts'
import { startHonestNetwork, type Window } from './hostile/honest.ts'
import { runVictim } from './hostile/victim.ts'

const EXEC_ARGV = ['--disable-warning=ExperimentalWarning', '--expose-gc']
/** After this time the code is compiled and the mesh is old enough. */
const WARM_UP_MS = 3_000
const REST_MS = 300

interface Options {
  rounds: number
  attackMs: number
  calmMs: number
  profile: string | undefined
}

interface Attacked extends Window {
  name: string
  attacker: AttackReport
}

interface Round {
  calm: Window[]
  attacked: Attacked[]
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      role: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '4' },
      calm: { type: 'string', default: '1.5' },
      profile: { type: 'string' },
    },
  })
  if (values.role === 'victim') return runVictim()
  if (values.role === 'attacker') return runAttacker()
  const names = Object.keys(ATTACKS).filter((name) => positionals.length === 0 || positionals.includes(name))
  if (names.length === 0) throw new Error(`no such attack; known: ${Object.keys(ATTACKS).join(', ')}`)
  const rounds = await measure(names, {
    rounds: Number(values.rounds),
    attackMs: Number(values.seconds) * 1_000,
    calmMs: Number(values.calm) * 1_000,
    profile: values.profile,
  })
  const foreign = rounds.map(({ calm }) => fixed(median(calm.map(({ foreignCpuMsPerS }) => foreignCpuMsPerS)), 0))
  console.log(
    `other processes took ${foreign.join(', ')} ms of CPU a second in the calm of the rounds: worth little above 100`,
  )
  console.log(formatTable(HEADER, [calmRow(rounds), ...names.map((name) => attackRow(name, rounds))]))
}

async function measure(names: readonly string[], options: Options): Promise<Round[]> {
  if (options.profile !== undefined) await mkdir(options.profile, { recursive: true })
  const network = await startHonestNetwork(import.meta.filename, EXEC_ARGV)
  const attacker = startAttacker(import.meta.filename, EXEC_ARGV)
  const attackBy = async (name: string): Promise<Attacked> => {
    const profile = options.profile === undefined ? undefined : join(options.profile, `${name}.cpuprofile`)
    attacker.begin(name, network.address)
    const window = await network.watch(options.attackMs, profile)
    const report = await attacker.end()
    await delay(REST_MS)
    return { ...window, name, attacker: report }
  }
  await network.watch(WARM_UP_MS)
  const rounds: Round[] = []
  while (rounds.length < options.rounds) {
    const round: Round = { calm: [], attacked: [] }
    for (const name of names) {
      round.calm.push(await network.watch(options.calmMs))
      round.attacked.push(await attackBy(name))
    }
    rounds.push(round)
  }
  attacker.stop()
  await network.stop()
  return rounds
}

const HEADER = [
  'attack',
  'p50 ms',
  'p99 ms',
  'calm p99',
  '× p99 (rounds)',
  '× pooled',
  '× behind',
  'other p99',
  '× other',
  'missed',
  'longest turn',
  'CPU ms/s',
  'peak RSS',
  'heap MB',
  'banned after s',
  'sent MB/s',
  'steps/s',
  'ids',
  'offences',
]

function calmRow(rounds: readonly Round[]): string[] {
  const all = (pick: (window: Window) => readonly number[]) =>
    rounds.map(({ calm }) => calm.flatMap((window) => pick(window)))
  const windows = rounds.flatMap(({ calm }) => calm)
  const p99 = median(all(({ atVictim }) => atVictim).map((values) => quantile(values, 0.99)))
  return [
    '(calm)',
    fixed(median(all(({ atVictim }) => atVictim).map((values) => median(values)))),
    fixed(p99),
    fixed(p99),
    '1',
    '1',
    '1',
    fixed(median(all(({ atOther }) => atOther).map((values) => quantile(values, 0.99)))),
    '1',
    ...costs(windows),
  ]
}

function attackRow(name: string, rounds: readonly Round[]): string[] {
  const figures = rounds.flatMap(({ calm, attacked }) => {
    const window = attacked.find((one) => one.name === name)
    if (window === undefined) return []
    const compare = (pick: (window: Window) => readonly number[]) => {
      const p99 = quantile(pick(window), 0.99)
      const calmP99 = quantile(calm.flatMap(pick), 0.99)
      return { p99, calmP99, ratio: p99 / calmP99 }
    }
    const victim = compare(({ atVictim }) => atVictim)
    const behind = compare(({ atBehind }) => atBehind)
    const other = compare(({ atOther }) => atOther)
    return [{ window, victim, behind, other }]
  })
  const of = (pick: (figure: (typeof figures)[number]) => number): number => median(figures.map(pick))
  const ratios = figures.map(({ victim }) => victim.ratio)
  const windows = figures.map(({ window }) => window)
  const calm = rounds.flatMap((round) => round.calm.flatMap(({ atVictim }) => atVictim))
  const pooled =
    quantile(
      windows.flatMap(({ atVictim }) => atVictim),
      0.99,
    ) / quantile(calm, 0.99)
  const bannedAfterS = windows.flatMap(({ startMs, victim: { firstBanAtMs } }) =>
    firstBanAtMs === undefined ? [] : [(firstBanAtMs - startMs) / 1_000],
  )
  return [
    name,
    fixed(of(({ window }) => median(window.atVictim))),
    fixed(of(({ victim }) => victim.p99)),
    fixed(of(({ victim }) => victim.calmP99)),
    `${fixed(median(ratios), 2)} (${fixed(Math.min(...ratios), 2)} to ${fixed(Math.max(...ratios), 2)})`,
    fixed(pooled, 2),
    fixed(
      of(({ behind }) => behind.ratio),
      2,
    ),
    fixed(of(({ other }) => other.p99)),
    fixed(
      of(({ other }) => other.ratio),
      2,
    ),
    ...costs(windows),
    bannedAfterS.length === 0 ? '-' : fixed(median(bannedAfterS)),
    fixed(median(windows.map(({ attacker }) => attacker.mbPerS))),
    fixed(median(windows.map(({ attacker }) => attacker.stepsPerS)), 0),
    String(median(windows.map(({ attacker }) => attacker.identities))),
    [...new Set(windows.flatMap(({ victim }) => victim.offences))].join(' '),
  ]
}

function costs(windows: readonly Window[]): string[] {
  return [
    String(windows.reduce((sum, { missed }) => sum + missed, 0)),
    fixed(median(windows.map(({ victim }) => victim.longestIterationMs))),
    fixed(median(windows.map(({ victim }) => victim.cpuMsPerS)), 0),
    String(Math.max(...windows.map(({ victim }) => victim.peakRssMb))),
    String(Math.max(...windows.map(({ victim }) => victim.heapMb))),
  ]
}

function fixed(value: number, digits = 1): string {
  return value.toFixed(digits)
}

await main()
