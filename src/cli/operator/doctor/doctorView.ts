import { countOf, fromNowText } from '../../../lib/phrases.ts'
import { formatTable, type LineWidth, plainText, wrapText } from '../../shared/table.ts'
import type { Line } from '../../shared/terminal/styledLine.ts'
import { formatTime } from '../../shared/units.ts'
import type { BeaconFacts, DoctorFacts, EngineFacts, FollowedFacts, L1Facts, Problem } from './facts.ts'
import type { Finding } from './finding.ts'
import type { Diagnosis, JudgedFork, Readiness } from './judge.ts'

/** Minimal width of a text on a narrow terminal. */
const MIN_ROOM = 20
const MARKS: Record<Readiness, string> = { yes: '✓', no: '✗', unknown: '?' }

/** Formats the verdict, the queried endpoints, the forks, and the findings, worst first. */
export function diagnosisLines({ ok, forks, findings }: Diagnosis, facts: DoctorFacts, width?: LineWidth): Line[] {
  return [
    [{ text: verdict(findings, facts.nowS), style: ok ? 'good' : 'bad' }],
    '',
    ...identityRows(facts).flatMap(([name, text]) => hanging(name.padEnd(9), text, width)),
    '',
    ...formatTable(
      ['fork', 'time (UTC)', 'state', 'devium', 'engine', 'L1', 'beacon'],
      rowsOf(forks, facts),
      width,
    ).split('\n'),
    ...findings.flatMap((finding) => ['', ...findingLines(finding, facts.nowS, width)]),
  ]
}

/** Wraps the text. Continuation lines are indented by the width of `before`. */
function hanging(before: string, text: string, width: LineWidth): string[] {
  const room = width === undefined ? undefined : Math.max(MIN_ROOM, width - before.length)
  const lines = wrapText(plainText(text), room, 0).split('\n')
  return lines.map((line, index) => `${index === 0 ? before : ' '.repeat(before.length)}${line}`)
}

function verdict(findings: readonly Finding[], nowS: number): string {
  const stopping = findings.filter(({ stops }) => stops !== null)
  const [first] = stopping
  if (first === undefined) return 'This node is ready for all forks that this version knows.'
  const count = countOf(stopping.length, 'problem')
  const verb = stopping.length === 1 ? 'stops' : 'stop'
  const when = first.stops === 'now' ? 'now' : fromNowText(first.stops ?? nowS, nowS)
  return stopping.length === 1
    ? `One problem ${verb} this node: ${when}.`
    : `${count} ${verb} this node, the first ${when}.`
}

function identityRows({ chain, version, engine, l1, beacon, followed, nowS }: DoctorFacts): [string, string][] {
  const { config, source, registry } = chain
  const name = registry === undefined ? '' : ` (${registry.name})`
  return [
    ['chain', `${config.l2ChainId}${name} on L1 ${config.l1ChainId}, from ${source}`],
    ['devium', version],
    ['engine', engineText(engine, nowS)],
    ...l1.map((endpoint): [string, string] => ['L1', l1Text(endpoint, nowS)]),
    ['beacon', beacon === undefined ? 'none' : beaconText(beacon)],
    ...(followed === undefined ? [] : [['follows', followedText(followed, nowS)] satisfies [string, string]]),
  ]
}

const ENGINE_PROBLEMS: Record<Problem['code'], string> = {
  ...{ unauthorized: 'refuses the JWT secret', down: 'no answer' },
  ...{ 'no-secret': 'not queried', 'wrong-kind': 'not an Engine API' },
}

function engineText({ url, client, head, problem }: EngineFacts, nowS: number): string {
  if (problem !== undefined) return `${url}: ${ENGINE_PROBLEMS[problem.code]}`
  return [`${client ?? 'without a name'} at ${url}`, ...headText(head, nowS)].join(', ')
}

function l1Text({ url, head, problem, headProblem }: L1Facts, nowS: number): string {
  if (problem !== undefined) return `${url}: no answer`
  return [url, ...(headProblem === undefined ? headText(head, nowS) : ['head unreadable'])].join(', ')
}

function headText(head: { number: number; time: number } | undefined, nowS: number): string[] {
  return head === undefined ? [] : [`block ${head.number}, ${fromNowText(head.time, nowS)}`]
}

function beaconText({ url, version, problem }: BeaconFacts): string {
  if (problem !== undefined) return `${url}: ${problem.code === 'wrong-kind' ? 'not a beacon API' : 'no answer'}`
  return `${version ?? 'without a name'} at ${url}`
}

function followedText({ url, safe, problem }: FollowedFacts, nowS: number): string {
  if (problem !== undefined) return `${url}: ${problem.code === 'wrong-kind' ? 'not a rollup node' : 'no answer'}`
  return [url, ...(safe === undefined ? [] : [`safe block ${safe.number}, ${fromNowText(safe.time, nowS)}`])].join(', ')
}

/** Forks that are active from genesis on share a row. */
function rowsOf(forks: readonly JudgedFork[], { chain, nowS }: DoctorFacts): string[][] {
  const { l2Time } = chain.config.genesis
  const isOfGenesis = ({ layer, time, isKnown }: JudgedFork) =>
    layer === 'L2' && isKnown && time !== undefined && time <= l2Time
  const first = forks.filter(isOfGenesis)
  const rest = forks.filter((fork) => !isOfGenesis(fork))
  const newest = first.at(-1)
  const genesisRow = newest === undefined ? [] : [row(spanName(first), 'at genesis', 'active', newest)]
  return [
    ...genesisRow,
    ...rest.map((fork) => {
      const { layer, name, time } = fork
      const state = fork.isActive ? 'active' : time === undefined ? 'no date' : fromNowText(time, nowS)
      const timeText = time === undefined ? '-' : formatTime(Math.min(time, 253_402_300_799) * 1000).slice(0, -3)
      return row(layer === 'L1' ? `L1 ${name}` : name, timeText, state, fork)
    }),
  ]
}

function spanName(forks: readonly JudgedFork[]): string {
  const [first, last] = [forks[0]?.name ?? '', forks.at(-1)?.name ?? '']
  return first === last ? first : `${first} to ${last}`
}

function row(name: string, time: string, state: string, { ready }: JudgedFork): string[] {
  const mark = (readiness: Readiness | undefined) => (readiness === undefined ? '' : MARKS[readiness])
  return [name, time, state, mark(ready.version), mark(ready.engine), mark(ready.L1), mark(ready.beacon)]
}

function findingLines({ subject, stops, text, next }: Finding, nowS: number, width: LineWidth): Line[] {
  const when = stops === null ? '' : stops === 'now' ? ', now' : `, ${fromNowText(stops, nowS)}`
  const mark = stops === null ? '! ' : '✗ '
  const heading = `${mark}${subject}${when}:`
  const [headline = '', ...rest] = hanging(mark, `${subject}${when}: ${text}`, width)
  const style = stops === null ? 'notable' : 'bad'
  return [
    [{ text: headline.slice(0, heading.length), style }, headline.slice(heading.length)],
    ...rest,
    ...hanging('  → ', next, width).map((line): Line => [{ text: line, style: 'bold' }]),
  ]
}

/** `devium doctor --json`: times are Unix seconds. */
export function diagnosisJson({ ok, forks, findings }: Diagnosis, facts: DoctorFacts) {
  const { chain, engine, l1, beacon, followed, nowS, version } = facts
  const { config, source, registry } = chain
  return {
    ...{ ok, now: nowS, version },
    chain: {
      ...{ id: String(config.l2ChainId), l1: String(config.l1ChainId), source, network: registry?.name ?? null },
    },
    engine: {
      ...{ url: engine.url, client: engine.client ?? null, head: engine.head ?? null, problem: engine.problem ?? null },
    },
    l1: l1.map(({ url, head, problem, headProblem }) => {
      return { url, head: head ?? null, problem: problem ?? headProblem ?? null }
    }),
    beacon:
      beacon === undefined
        ? null
        : {
            url: beacon.url,
            version: beacon.version ?? null,
            serves: beacon.serves ?? null,
            problem: beacon.problem ?? null,
          },
    followed:
      followed === undefined
        ? null
        : { url: followed.url, safe: followed.safe ?? null, problem: followed.problem ?? null },
    forks: forks.map(({ layer, name, time, isActive, isKnown, ready }) => {
      return { layer, name, time: time ?? null, active: isActive, known: isKnown, ready }
    }),
    findings,
  }
}
