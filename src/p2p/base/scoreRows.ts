import { formatNumber } from '../../lib/formatNumber.ts'
import type { PeerScoreReport, ScoreTerm } from './schemas.ts'
import { RESPONSE_TERMS, TOPIC_TERMS } from './scoreTerms.ts'

/** The parts of a score report that the rows need. */
type ScoreParts = Pick<PeerScoreReport, 'topics' | 'application' | 'ipColocation' | 'behaviour'>

/** One part of a score: a counter, its weight, and the resulting score. */
export interface ScoreRow {
  name: string
  /** Empty for a row without a counter. */
  count: string
  weight: string
  score: number
}

/** The parts of a score as rows of text. Their sum is the total. Commands and the dashboard show these rows. */
export function scoreRows({ topics, application, ipColocation, behaviour }: ScoreParts): ScoreRow[] {
  const rows: ScoreRow[] = []
  const add = (
    name: string,
    { value, weight, score }: ScoreTerm,
    { factor = 1, squared }: { factor?: number; squared?: true | undefined } = {},
  ) => {
    if (value * weight === 0) return
    const count = squared === true ? `${formatNumber(Math.sqrt(value))}²` : formatNumber(value)
    rows.push({ name, count, weight: formatNumber(weight * factor), score: score * factor })
  }
  for (const part of topics.parts) {
    for (const { name, row, squared } of TOPIC_TERMS) {
      add(`blocks v${part.version}: ${row}`, part[name], { factor: part.topicWeight, squared })
    }
  }
  const uncapped = topics.parts.reduce((sum, { score }) => sum + score, 0)
  if (topics.cap > 0 && uncapped > topics.cap) {
    const name = `all topics: limited to ${formatNumber(topics.cap)}`
    rows.push({ name, count: '', weight: '', score: topics.cap - uncapped })
  }
  for (const { name, row, squared } of RESPONSE_TERMS) add(row, application[name], { squared })
  for (const { ip, peers, threshold, exemptBy, ...term } of ipColocation.parts) {
    if (exemptBy !== null) rows.push({ name: `IP ${ip}: exempt (${exemptBy})`, count: '', weight: '', score: 0 })
    else if (term.value > 0) add(`IP ${ip}: ${peers.length} peers, ${threshold} free`, term, { squared: true })
  }
  const { penalties, threshold, ...term } = behaviour
  const misbehaved = `misbehaviour points: ${formatNumber(penalties)}, ${threshold} free`
  if (penalties > 0 && term.value === 0) {
    rows.push({ name: misbehaved, count: '0', weight: formatNumber(term.weight), score: 0 })
  }
  add(misbehaved, term, { squared: true })
  return rows
}
