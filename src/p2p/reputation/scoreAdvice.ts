import type { PeerScoreReport } from '../base/api.ts'
import { RESPONSE_TERMS, TOPIC_TERMS } from '../base/scoreTerms.ts'

/** What an operator can do about a score: one sentence for each part that takes something away. */
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
    advice.push('Misbehaviour is forgotten with time, if it ends. What each name means: src/p2p/OFFENCES.md.')
  for (const { name, advice: helps } of RESPONSE_TERMS) {
    if (helps !== undefined && report.application[name].score < 0) advice.push(helps)
  }
  if (advice.length > 0 && !report.static) advice.push('A peer in --p2p.static is never banned for its score.')
  if (advice.length === 0 && report.connected && report.scored && report.topics.parts.length > 0) {
    advice.push('Time in the mesh, being first to bring blocks, and good answers to requests raise it.')
  }
  return advice
}
