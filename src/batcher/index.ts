export { createBatcherRpc } from './admin/adminRpc.ts'
export { addReadyPath } from './admin/readyPath.ts'
export { type ChannelConfig, createChannelConfig } from './channel/channelConfig.ts'
export { COMPRESSION_ALGORITHMS } from './channel/compress/algorithm.ts'
export { COMPRESSOR_KINDS } from './channel/compress/channelCompressor.ts'
export { L1Heads } from './l1/l1Heads.ts'
export { createSubmitterL1, type SubmitterL1 } from './l1/submitterL1.ts'
export { ActiveSequencer } from './l2/activeSequencer.ts'
export { createL2Source, type L2Source } from './l2/l2Source.ts'
export { BatchSubmitter } from './submitter/batchSubmitter.ts'
export { createBatcherMetrics } from './submitter/metrics.ts'
export {
  type BatcherOptions,
  checkBatcherOptions,
  DATA_AVAILABILITY_TYPES,
  MAX_CHECK_RECENT_TXS_DEPTH,
} from './submitter/options.ts'
export { watchBalance } from './submitter/watchBalance.ts'
export { THROTTLE_CONTROLLERS, type ThrottleOptions } from './throttle/controller.ts'
export { DEFAULT_MIN_BLOB_FEE_WEI } from './txmgr/fees.ts'
export { createTxManagerMetrics } from './txmgr/metrics.ts'
export { checkTxManagerOptions, type TxManagerOptions } from './txmgr/options.ts'
export { createRemoteTxSigner } from './txmgr/remoteSigner.ts'
export { createLocalSigner, DEFAULT_HD_PATH, type TxSigner } from './txmgr/signer.ts'
export { TxManager } from './txmgr/txManager.ts'
