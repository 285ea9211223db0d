import type { P2pOptions } from './base/options.ts'
import type { P2pModules, P2pNode } from './types.ts'

export { type Clock, systemClock } from '../lib/clock.ts'
export { createLogger, type Logger, silentLogger } from '../lib/logger.ts'
export {
  CONNECTEDNESS,
  type Connectedness,
  DIRECTION,
  type Direction,
  type P2pApi,
  type PeerDump,
  type PeerScores,
  type PeerStats,
  type ReqRespScores,
} from './base/api.ts'
export { P2pError, type P2pErrorCode } from './base/errors.ts'
export type { HeadEvent, HealthReport, HealthState } from './base/healthReport.ts'
export {
  type BlockScoring,
  checkTides,
  DEFAULT_DISCOVERY_OPTIONS,
  DEFAULT_P2P_OPTIONS,
  type DiscoveryOptions,
  type Muxer,
  type P2pChain,
  type P2pOptions,
  type ScoringLevel,
  type Security,
} from './base/options.ts'
export type { GossipScores, PeerRecord, TopicScores } from './base/schemas.ts'
export { parsePrivateKeyHex } from './host/privateKey.ts'
export type { P2pModules, P2pNode, PayloadListener } from './types.ts'

/**
 * Assembles the node. Nothing listens and no peer is dialled before `start`. The first call loads libp2p (about 200
 * ms), so that programs without peers do not wait for it. Throws UsageError.
 */
export async function createP2pNode(modules: P2pModules, options: P2pOptions): Promise<P2pNode> {
  const node = await import('./node.ts')
  return node.createP2pNode(modules, options)
}
