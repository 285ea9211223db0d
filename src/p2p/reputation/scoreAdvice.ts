import type { PeerScoreReport } from '../base/api.ts'

/** What an operator can do about a score: one sentence for each part that takes something away. */
export function scoreAdvice(report: Omit<PeerScoreReport, 'advice'>): string[] {
  const advice: string[] = []
  const parts = report.topics.parts
  if (parts.some(({ invalidMessages }) => invalidMessages.score < 0)) {
    advice.push(
      'Invalid messages are forgotten with time, if no more come. If many peers send them, look at this node first: its rollup config and its version.',
    )
  }
  if (parts.some(({ meshFailures }) => meshFailures.score < 0)) {
    advice.push(
      'It says that it has blocks and leaves it to others to bring them: its uplink or its processor may be overloaded.',
    )
  }
  if (parts.some(({ meshDeficit }) => meshDeficit.score < 0)) {
    advice.push(
      'It must bring blocks on that topic. If nobody publishes there, that is --p2p.score.blocks op-node-2024, which blames every peer for it: use "current".',
    )
  }
  for (const { ip, score } of report.ipColocation.parts) {
    const range = ip.includes('/') ? ip : `${ip}${ip.includes(':') ? '/128' : '/32'}`
    if (score < 0) advice.push(`If you know the peers on ${ip}, exempt it: --p2p.score.ip-exempt ${range}`)
  }
  if (report.behaviour.score < 0)
    advice.push('Misbehaviour is forgotten with time, if it ends. What each name means: src/p2p/OFFENCES.md.')
  if (report.application.errorResponses.score < 0) {
    advice.push('Requests for blocks by number fail: does it serve them (--p2p.sync.req-resp), and is it synced?')
  }
  if (report.application.rejectedPayloads.score < 0) {
    advice.push('It answers requests with blocks that are none of this chain: it may follow another fork.')
  }
  if (advice.length > 0 && !report.static) advice.push('A peer in --p2p.static is never banned for its score.')
  if (advice.length === 0 && report.connected && report.scored && report.topics.parts.length > 0) {
    advice.push('Time in the mesh, being first to bring blocks, and good answers to requests raise it.')
  }
  return advice
}
