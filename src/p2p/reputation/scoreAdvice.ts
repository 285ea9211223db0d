import type { PeerScoreReport } from '../base/schemas.ts'
import { RESPONSE_TERMS, TOPIC_TERMS } from '../base/scoreTerms.ts'

/** Advice for the operator: one sentence for each part that lowers the score. */
export function scoreAdvice(report: Omit<PeerScoreReport, 'advice' | 'servesBlocks'>): string[] {
  const advice: string[] = []
  for (const { name, advice: helps } of TOPIC_TERMS.toReversed()) {
    if (helps !== undefined && report.topics.parts.some((part) => part[name].score < 0)) advice.push(helps)
  }
  for (const { ip, score } of report.ipColocation.parts) {
    const range = ip.includes('/') ? ip : `${ip}${ip.includes(':') ? '/128' : '/32'}`
    if (score < 0) advice.push(`If you know the peers on ${ip}, exempt it: --p2p.score.ip-exempt ${range}`)
  }
  if (report.behaviour.score < 0)
    advice.push('The penalty for misbehaviour decays if the peer stops. src/p2p/OFFENCES.md explains each name.')
  for (const { name, advice: helps } of RESPONSE_TERMS) {
    if (helps !== undefined && report.application[name].score < 0) advice.push(helps)
  }
  if (advice.length > 0 && !report.static) advice.push('A peer in --p2p.static is never banned for its score.')
  if (advice.length === 0 && report.connected && report.scored && report.topics.parts.length > 0) {
    advice.push('Time in the mesh, first deliveries of blocks, and good answers to requests raise the score.')
  }
  return advice
}
