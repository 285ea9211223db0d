export { type Batch, decodeBatch, readBatch } from './batch.ts'
export { BLOB_BYTES, decodeBlob, encodeBlob, MAX_BLOB_DATA_BYTES } from './blob.ts'
export {
  type BlobScheduleEntry,
  blobBaseFee,
  blobUpdateFraction,
  changesBlobsAt,
  hasKnownBlobSchedule,
  l1BlobBaseFee,
} from './blobFee.ts'
export {
  type BlockHeader,
  blockHeaderFromJson,
  blockHeaderHash,
  decodeBlockHeader,
  encodeBlockHeader,
  HEADER_JSON_NAMES,
} from './blockHeader.ts'
export {
  COMPRESSION_ALGORITHMS,
  type CompressionAlgorithm,
  compressChannel,
  openChannelBatches,
  type ReadChannelOptions,
} from './channel.ts'
export {
  BASE_FEE_VAULT_ADDRESS,
  DEPOSITOR_ACCOUNT,
  DERIVATION_VERSION_0,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  EMPTY_UNCLES_HASH,
  FRAME_ACCOUNTING_OVERHEAD_BYTES,
  FRAME_ENCODING_OVERHEAD_BYTES,
  GAS_PRICE_ORACLE_ADDRESS,
  L1_BLOCK_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  MAX_FRAME_DATA_BYTES,
  MAX_SPAN_BATCH_ELEMENTS,
  MESSAGE_PASSER_ADDRESS,
  OPERATOR_FEE_VAULT_ADDRESS,
  SEQUENCER_FEE_VAULT_ADDRESS,
} from './constants.ts'
export {
  DEPOSIT_TX_TYPE,
  type DepositTx,
  decodeDepositTx,
  depositsFromReceipts,
  depositTxHash,
  encodeDepositTx,
  isDepositTx,
  TRANSACTION_DEPOSITED_TOPIC,
  userDepositFromLog,
} from './deposit.ts'
export { fastLzLength } from './fastLz.ts'
export {
  type BaseFeeConstants,
  type BaseFeeParent,
  baseFeeConstants,
  DEFAULT_BASE_FEE_CONSTANTS,
  daFootprint,
  estimatedDaSize,
  fjordDataFee,
  type L1DataFee,
  type L1FeeParams,
  type L1FeeRules,
  l1DataFee,
  l1FeeRulesAt,
  nextBaseFee,
  type OperatorFeeOptions,
  operatorFee,
} from './fees.ts'
export {
  channelTimeout,
  isForkActivationBlock,
  isForkActive,
  l2BlockNumberAt,
  l2BlockTime,
  maxChannelBankSize,
  maxRlpBytesPerChannel,
  maxSequencerDrift,
} from './forks.ts'
export { decodeFrames, encodeFrame, encodeFrames, type Frame } from './frame.ts'
export { JsonObjectReader, jsonBytes } from './jsonReader.ts'
export {
  encodeL1Info,
  type L1Info,
  type L1InfoFormat,
  l1InfoDepositTx,
  l1InfoOf,
  l1InfoOfTransactions,
  parseL1Info,
} from './l1Info.ts'
export { createL1InfoEncoder, type L1InfoEncoder } from './l1InfoEncoder.ts'
export { bundleNeededAt, MISSING_BUNDLE_TEXT } from './lagoonUpgrade.ts'
export { orderedTrieRoot } from './orderedTrie.ts'
export { computeOutputRoot, type OutputRootParts } from './outputRoot.ts'
export {
  type PayloadHeaderOptions,
  payloadBlockHash,
  payloadToHeader,
  payloadToL2BlockRef,
  payloadVersionAt,
} from './payload.ts'
export { payloadId } from './payloadId.ts'
export {
  attributesFromJson,
  attributesToJson,
  type ExecutionPayloadJson,
  type PayloadAttributesJson,
  payloadEnvelopeFromJson,
  payloadEnvelopeToJson,
  payloadFromJson,
  payloadToJson,
  type WithdrawalJson,
} from './payloadJson.ts'
export {
  checkTransactions,
  claimedTransactions,
  decodePayloadEnvelope,
  decodePayloadSsz,
  encodePayloadEnvelope,
  encodePayloadParts,
  encodePayloadSsz,
  MAX_BLOCK_TRANSACTIONS,
  type PayloadVersion,
  transactionsPlace,
} from './payloadSsz.ts'
export {
  decodePostExecTx,
  encodePostExecTx,
  type GasRefund,
  isPostExecTx,
  type PostExecTx,
  SDM_VERSION,
} from './postExec.ts'
export { checkRollupConfig, parseRollupConfig, rollupConfigToJson, systemConfigToJson } from './rollupConfig.ts'
export { describeUnknownMember, unknownConfigMembers } from './rollupConfigMembers.ts'
export {
  decodeEip1559Params,
  decodeExtraData,
  decodeOperatorFeeParams,
  decodeScalar,
  type EcotoneScalars,
  type Eip1559Params,
  encodeEip1559Params,
  encodeExtraData,
  encodeOperatorFeeParams,
  encodeScalar,
  type HeaderFeeParams,
  type OperatorFeeParams,
} from './scalars.ts'
export { payloadSigningHash, payloadSigningHashOfBody } from './signing.ts'
export { decodeSingularBatch, encodeSingularBatch, type SingularBatch } from './singularBatch.ts'
export {
  invalidatedBlockSourceHash,
  l1InfoSourceHash,
  upgradeSourceHash,
  userDepositSourceHash,
} from './sourceHash.ts'
export { buildSpanBatch, decodeSpanBatch } from './spanBatch.ts'
export { encodeDecodedSpanBatch, encodeSpanBatch, type SpanBatchBlock, SpanBatchEncoder } from './spanBatchEncoder.ts'
export type { SpanBatch, SpanBatchElement } from './spanBatchTypes.ts'
export {
  type AccountProof,
  accountProofFromJson,
  type StorageProof,
  storageProofsFromJson,
  verifyAccountProof,
  verifyStorageProof,
} from './stateProof.ts'
export {
  applySystemConfigUpdate,
  applySystemConfigUpdates,
  CONFIG_UPDATE_TOPIC,
  systemConfigFromPayload,
} from './systemConfig.ts'
export { marksOf, POST_EXEC_TYPE_BYTE, type TransactionList } from './transactionList.ts'
export {
  type AltDaConfig,
  type BlockId,
  type ExecutionPayload,
  FORKS,
  type Fork,
  type L1BlockInfo,
  type L1BlockRef,
  type L1Log,
  type L1Receipt,
  type L1Transaction,
  type L2BlockRef,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  type SyncStatus,
  type SystemConfig,
  type UnknownFork,
  type Withdrawal,
  ZERO_ADDRESS,
  ZERO_HASH,
  ZERO_L1_REF,
  ZERO_L2_REF,
} from './types.ts'
export { checkForksKnown, unknownForkAt, unknownForks } from './unknownForks.ts'
export { hasMoreThanL1Info, transactionTotals, withUnreadTransactions } from './unreadTransactions.ts'
export {
  BUNDLE_PINS,
  type BundledFork,
  findUpgradeBundle,
  readUpgradeBundle,
  type UpgradeBundle,
  upgradeBundleToJson,
} from './upgradeBundle.ts'
export { upgradeDeposits, upgradeDepositsOf, upgradeGas } from './upgradeTxs.ts'
