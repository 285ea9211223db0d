import type { PeerScoreReport } from '../base/api.ts'

type Parts = Pick<PeerScoreReport, 'topics' | 'application' | 'ipColocation' | 'behaviour' | 'causes'>

/** The part of a score that weighs most, in a few words: the worst of the bad ones, else the best of the good ones. */
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

const NOTHING: NamedPart = { score: 0, text: () => 'nothing counts for or against it' }

function namedParts({ topics, application, ipColocation, behaviour, causes }: Parts): NamedPart[] {
  const named: NamedPart[] = []
  for (const part of topics.parts) {
    const add = (score: number, text: () => string) => named.push({ score: score * part.topicWeight, text })
    const { version } = part
    add(part.timeInMesh.score, () => 'time in the mesh')
    add(part.firstDeliveries.score, () => 'first to bring blocks')
    add(part.meshDeficit.score, () => `too few blocks brought on v${version}`)
    add(part.meshFailures.score, () => `blocks that it had and did not bring`)
    add(part.invalidMessages.score, () => {
      const last = causes.rejections.find((cause) => cause.topics?.includes(version) === true)
      return `invalid messages on v${version}${last === undefined ? '' : ` (last: ${last.reason})`}`
    })
  }
  const { validResponses, errorResponses, rejectedPayloads } = application
  named.push({ score: validResponses.score, text: () => 'requests answered with good blocks' })
  named.push({ score: errorResponses.score, text: () => `requests failed${lastOf(causes.application)}` })
  named.push({ score: rejectedPayloads.score, text: () => 'false blocks in answer to requests' })
  for (const { ip, peers, score } of ipColocation.parts) {
    named.push({ score, text: () => `${peers.length} peers on ${ip}` })
  }
  named.push({ score: behaviour.score, text: () => `misbehaviour${lastOf(causes.behaviour)}` })
  return named
}

function lastOf(causes: readonly { reason: string; detail?: string }[]): string {
  const [last] = causes
  return last === undefined ? '' : ` (last: ${last.reason})`
}
