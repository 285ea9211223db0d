import type { PeerScoreReport } from '../base/schemas.ts'
import { RESPONSE_TERMS, TOPIC_TERMS } from '../base/scoreTerms.ts'

type Parts = Pick<PeerScoreReport, 'topics' | 'application' | 'ipColocation' | 'behaviour' | 'causes'>

/** Names the part of a score with the largest effect: the worst negative part, or else the best positive part. */
export function mainReason(parts: Parts): string {
  const named = namedParts(parts)
  const worst = named.reduce((a, b) => (b.score < a.score ? b : a), NOTHING)
  if (worst.score < 0) return worst.text()
  return named.reduce((a, b) => (b.score > a.score ? b : a), NOTHING).text()
}

interface NamedPart {
  score: number
  text(): string
}

const NOTHING: NamedPart = { score: 0, text: () => 'no score term applies' }

function namedParts({ topics, application, ipColocation, behaviour, causes }: Parts): NamedPart[] {
  const named: NamedPart[] = []
  for (const part of topics.parts) {
    const { version } = part
    for (const { name, reason, namesVersion, causes: of } of TOPIC_TERMS) {
      const text = () => {
        const known = of === undefined ? [] : causes[of].filter((cause) => cause.topics?.includes(version) === true)
        return `${reason}${namesVersion === true ? ` on v${version}` : ''}${lastOf(known)}`
      }
      named.push({ score: part[name].score * part.topicWeight, text })
    }
  }
  for (const { name, reason, causes: of } of RESPONSE_TERMS) {
    named.push({ score: application[name].score, text: () => `${reason}${of === undefined ? '' : lastOf(causes[of])}` })
  }
  for (const { ip, peers, score } of ipColocation.parts) {
    named.push({ score, text: () => `${peers.length} peers on ${ip}` })
  }
  named.push({ score: behaviour.score, text: () => `misbehaviour${lastOf(causes.behaviour)}` })
  return named
}

function lastOf([last]: readonly { reason: string }[]): string {
  return last === undefined ? '' : ` (last: ${last.reason})`
}
