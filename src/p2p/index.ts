export {
  CONNECTEDNESS,
  type Connectedness,
  DIRECTION,
  type Direction,
  type GossipScores,
  type P2pApi,
  type PeerDump,
  type PeerRecord,
  type PeerScores,
  type PeerStats,
  type ReqRespScores,
  type TopicScores,
} from './api.ts'
export { P2pError, type P2pErrorCode } from './errors.ts'
export { parsePrivateKeyHex } from './host/identity.ts'
export { cidrToIpNet, type IpNet, ipNetToCidr } from './ipNet.ts'
export { createP2pNode, type P2pModules } from './node.ts'
export {
  DEFAULT_P2P_OPTIONS,
  type Muxer,
  type P2pChain,
  type P2pOptions,
  type ScoringLevel,
  type Security,
} from './options.ts'
export type { P2pNode, PayloadListener } from './types.ts'
