import { z } from 'zod'
import { formatTable, shortHash } from './table.ts'

const termSchema = z.object({ value: z.number(), weight: z.number(), score: z.number() })
const banSchema = z.object({ reason: z.string(), untilMs: z.number(), remainingS: z.number() })
const scoreSchema = z.object({
  peerID: z.string(),
  scored: z.boolean(),
  connected: z.boolean(),
  static: z.boolean(),
  protected: z.boolean(),
  blocked: z.boolean(),
  total: z.number(),
  topics: z.object({
    score: z.number(),
    cap: z.number(),
    parts: z.array(
      z.object({
        version: z.number(),
        topicWeight: z.number(),
        timeInMesh: termSchema,
        firstDeliveries: termSchema,
        meshDeficit: termSchema,
        meshFailures: termSchema,
        invalidMessages: termSchema,
      }),
    ),
  }),
  application: z.object({ validResponses: termSchema, errorResponses: termSchema, rejectedPayloads: termSchema }),
  ipColocation: z.object({
    parts: z.array(
      z.object({
        ip: z.string(),
        peers: z.array(z.string()),
        threshold: z.number(),
        exempt: z.boolean(),
        ...termSchema.shape,
      }),
    ),
  }),
  behaviour: z.object({ penalties: z.number(), threshold: z.number(), ...termSchema.shape }),
  thresholds: z.array(
    z.object({
      name: z.string(),
      value: z.number(),
      below: z.boolean(),
      effect: z.string(),
      changesInS: z.number().nullable(),
    }),
  ),
  forecastHorizonS: z.number(),
  ban: banSchema.nullable(),
})
const historySchema = z.object({
  events: z.array(
    z.object({
      kind: z.string(),
      reason: z.string(),
      detail: z.string().optional(),
      block: z.object({ number: z.number(), hash: z.string() }).optional(),
      topics: z.array(z.number()).optional(),
      count: z.number(),
      lastMs: z.number(),
      score: z.number(),
    }),
  ),
})
type Score = z.infer<typeof scoreSchema>
type Term = z.infer<typeof termSchema>

/** deviump2p_peerScore and deviump2p_peerHistory of one peer, for people. */
export function formatExplanation(score: unknown, history: unknown): string {
  const report = scoreSchema.parse(score)
  const { events } = historySchema.parse(history)
  return [headline(report), partsOf(report), standingOf(report), eventsOf(events)]
    .filter((text) => text !== '')
    .join('\n\n')
}

function headline(report: Score): string {
  const traits = [
    report.connected ? 'connected' : 'not connected',
    ...(report.static ? ['static (never banned for its score)'] : []),
    ...(report.protected && !report.static ? ['protected from trimming'] : []),
    ...(report.blocked ? ['on the block list'] : []),
    ...(report.scored ? [] : ['scoring is off (--p2p.scoring none)']),
  ]
  return `${report.peerID}\nscore ${number(report.total)}; ${traits.join(', ')}`
}

function partsOf(report: Score): string {
  const rows: string[][] = []
  const add = (name: string, { value, weight, score }: Term, factor = 1): void => {
    if (value * weight !== 0) rows.push([name, number(value), number(weight * factor), number(score * factor)])
  }
  for (const part of report.topics.parts) {
    const name = (what: string) => `blocks v${part.version}: ${what}`
    add(name('time in mesh'), part.timeInMesh, part.topicWeight)
    add(name('first to bring a block'), part.firstDeliveries, part.topicWeight)
    add(name('too few blocks brought (squared)'), part.meshDeficit, part.topicWeight)
    add(name('blocks that it had and did not bring'), part.meshFailures, part.topicWeight)
    add(name('invalid messages (squared)'), part.invalidMessages, part.topicWeight)
  }
  add('requests answered with a good block', report.application.validResponses)
  add('requests failed', report.application.errorResponses)
  add('false blocks', report.application.rejectedPayloads)
  for (const { ip, peers, threshold, exempt, ...term } of report.ipColocation.parts) {
    const name = `${peers.length} peers on ${ip}, ${threshold} are free (excess squared)`
    if (exempt) rows.push([`${peers.length} on ${ip}: exempt (--p2p.score.ip-exempt)`, '0', '0', '0'])
    else add(name, term)
  }
  const { penalties, threshold, ...behaviour } = report.behaviour
  if (penalties > 0 && behaviour.value === 0) {
    rows.push([`behaviour: ${number(penalties)} penalties, ${threshold} are free`, '0', number(behaviour.weight), '0'])
  }
  add(`behaviour: ${number(penalties)} penalties, ${threshold} are free (excess squared)`, behaviour)
  const table = rows.length === 0 ? 'nothing counts for or against it' : formatTable(PART_COLUMNS, rows)
  const notes = report.ipColocation.parts
    .filter(({ score }) => score < 0)
    .map(({ ip, peers }) => `on ${ip} with it: ${peers.filter((peer) => peer !== report.peerID).join(', ')}`)
  if (report.topics.cap > 0) notes.push(`all topics together bring at most ${number(report.topics.cap)}`)
  return [table, ...notes].join('\n')
}

const PART_COLUMNS = ['made of', 'value', 'weight', 'score']

function standingOf(report: Score): string {
  const lines: string[] = []
  if (report.ban !== null) {
    const { reason, untilMs, remainingS } = report.ban
    lines.push(`banned until ${time(untilMs)} (${duration(remainingS)} more): ${reason}`)
    lines.push(`  lift it with: devium unblock ${report.peerID}`)
  }
  for (const { value, below, effect, changesInS, name } of report.thresholds) {
    if (below) lines.push(`below ${value}: ${effect}; ${recovery(report, changesInS)}`)
    else if (changesInS !== null) lines.push(`${name} threshold ${value}: falls below in ${duration(changesInS)}`)
  }
  if (lines.length === 0) lines.push('above every threshold')
  return lines.join('\n')
}

function recovery(report: Score, changesInS: number | null): string {
  if (changesInS !== null) return `over in ${duration(changesInS)} if nothing more happens`
  if (!report.connected) return 'a score stands still while the peer is away'
  return `not over within ${duration(report.forecastHorizonS)} by itself`
}

function eventsOf(events: z.infer<typeof historySchema>['events']): string {
  if (events.length === 0) return 'no history'
  const rows = events.map(({ lastMs, kind, reason, count, score, block, topics, detail }) => [
    time(lastMs),
    kind,
    reason,
    `x${count}`,
    number(score),
    [
      ...(topics === undefined ? [] : [topics.map((version) => `v${version}`).join(' ')]),
      ...(block === undefined ? [] : [`block ${block.number} ${shortHash(block.hash)}`]),
      ...(detail === undefined ? [] : [printable(detail)]),
    ].join(', '),
  ])
  return formatTable(['when', 'what', 'why', 'times', 'score then', 'about'], rows)
}

/** Details may quote what a peer sent. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}

function number(value: number): string {
  return String(Math.round(value * 100) / 100)
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace(/\..*$/, 'Z')
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`
  return `${Math.ceil(seconds / 3_600)} h`
}
