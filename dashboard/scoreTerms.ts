import type { PeerScoreReport } from './answers.ts'
import { countOf, score } from './format.ts'

/** One part of a score. */
export interface ScoreTermPart {
  label: string
  /** What is counted, and what each of it weighs. */
  detail: string
  value: number
}

/** The parts that count for or against a peer; together they are its total. */
export function termsOf(report: PeerScoreReport): ScoreTermPart[] {
  const parts: ScoreTermPart[] = []
  const add = (label: string, detail: string, value: number): void => {
    if (value !== 0) parts.push({ label, detail, value })
  }
  for (const part of report.topics.parts) {
    const of = (
      label: string,
      { value, weight, score: points }: { value: number; weight: number; score: number },
    ): void =>
      add(
        `${label} (blocks v${part.version})`,
        `${score(value)} × ${score(weight * part.topicWeight)}`,
        points * part.topicWeight,
      )
    of('Time in the mesh', part.timeInMesh)
    of('First to bring a block', part.firstDeliveries)
    of('Brought fewer blocks than asked', part.meshDeficit)
    of('Had a block and did not bring it', part.meshFailures)
    of('Invalid messages', part.invalidMessages)
  }
  const uncapped = report.topics.parts.reduce((sum, { score: points }) => sum + points, 0)
  if (report.topics.cap > 0 && uncapped > report.topics.cap) {
    add('Cap of all topics', `at most ${score(report.topics.cap)}`, report.topics.cap - uncapped)
  }
  const { validResponses, errorResponses, rejectedPayloads } = report.application
  add(
    'Requests answered well',
    `${score(validResponses.value)} × ${score(validResponses.weight)}`,
    validResponses.score,
  )
  add('Requests failed', `${score(errorResponses.value)} × ${score(errorResponses.weight)}`, errorResponses.score)
  add('False blocks', `${score(rejectedPayloads.value)} × ${score(rejectedPayloads.weight)}`, rejectedPayloads.score)
  for (const { ip, peers, score: points } of report.ipColocation.parts) {
    add(`Shares IP ${ip}`, countOf(peers.length, 'peer'), points)
  }
  const { penalties, threshold, score: points } = report.behaviour
  add('Misbehaviour', `${score(penalties)} points, ${threshold} are free`, points)
  return parts
}
