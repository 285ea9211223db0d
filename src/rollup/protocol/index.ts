export { JsonObjectReader, jsonBytes } from '../../lib/jsonReader.ts'
export { encodeRlp } from '../../lib/rlp.ts'
export { type Batch, decodeBatch, readBatch } from './batch/batch.ts'
export {
  COMPRESSION_ALGORITHMS,
  type CompressionAlgorithm,
  compressChannel,
  openChannelBatches,
  type ReadChannelOptions,
} from './batch/channel.ts'
export { bareFramesOf, decodeFrames, encodeFrame, encodeFrames, type Frame, framesOf } from './batch/frame.ts'
export { decodeSingularBatch, encodeSingularBatch, type SingularBatch } from './batch/singularBatch.ts'
export { buildSpanBatch, decodeSpanBatch } from './batch/spanBatch.ts'
export { encodeSpanBatch, type SpanBatchBlock, SpanBatchEncoder } from './batch/spanBatchEncoder.ts'
export { isSpanTxType, type SpanBatch, type SpanBatchElement } from './batch/spanBatchTypes.ts'
export { hasMoreThanL1Info, transactionTotals, withUnreadTransactions } from './batch/unreadTransactions.ts'
export {
  channelTimeout,
  isForkActivationBlock,
  isForkActive,
  l2BlockNumberAt,
  l2BlockTime,
  maxChannelBankSize,
  maxRlpBytesPerChannel,
  maxSequencerDrift,
} from './config/forks.ts'
export { checkRollupConfig, parseRollupConfig, rollupConfigToJson, systemConfigToJson } from './config/rollupConfig.ts'
export { describeUnknownMember, unknownConfigMembers } from './config/rollupConfigMembers.ts'
export { checkForksKnown, unknownForkAt, unknownForks } from './config/unknownForks.ts'
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
export { fastLzLength } from './fees/fastLz.ts'
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
} from './fees/fees.ts'
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
} from './fees/scalars.ts'
export { BLOB_BYTES, decodeBlob, encodeBlob, MAX_BLOB_DATA_BYTES } from './l1/blob.ts'
export {
  type BlobScheduleEntry,
  blobBaseFee,
  blobUpdateFraction,
  changesBlobsAt,
  hasKnownBlobSchedule,
  l1BlobBaseFee,
} from './l1/blobFee.ts'
export {
  encodeL1Info,
  type L1Info,
  type L1InfoFormat,
  l1InfoDepositTx,
  l1InfoOf,
  l1InfoOfTransactions,
  parseL1Info,
} from './l1/l1Info.ts'
export {
  applySystemConfigUpdate,
  applySystemConfigUpdates,
  CONFIG_UPDATE_TOPIC,
  systemConfigFromPayload,
} from './l1/systemConfig.ts'
export {
  type BlockHeader,
  blockHeaderFromJson,
  blockHeaderHash,
  decodeBlockHeader,
  encodeBlockHeader,
  HEADER_JSON_NAMES,
} from './payload/blockHeader.ts'
export { orderedTrieRoot } from './payload/orderedTrie.ts'
export { computeOutputRoot, type OutputRootParts } from './payload/outputRoot.ts'
export {
  type PayloadHeaderOptions,
  payloadBlockHash,
  payloadToHeader,
  payloadToL2BlockRef,
  payloadVersionAt,
} from './payload/payload.ts'
export { payloadId } from './payload/payloadId.ts'
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
} from './payload/payloadJson.ts'
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
} from './payload/payloadSsz.ts'
export { payloadFromRpcBlock } from './payload/rpcBlock.ts'
export { payloadSigningHash, payloadSigningHashOfBody } from './payload/signing.ts'
export {
  type AccountProof,
  accountProofFromJson,
  type StorageProof,
  storageProofsFromJson,
  verifyAccountProof,
  verifyStorageProof,
} from './payload/stateProof.ts'
export { marksOf, type TransactionList } from './payload/transactionList.ts'
export { createAuthorization } from './transaction/authorization.ts'
export {
  decodeDeposit,
  decodeSignedTransaction,
  decodeTransaction,
  isSignedEncoding,
} from './transaction/decode.ts'
export {
  type DepositTx,
  decodeDepositTx,
  depositsFromReceipts,
  depositTxHash,
  encodeDepositTx,
  isDepositTx,
  TRANSACTION_DEPOSITED_TOPIC,
  userDepositFromLog,
} from './transaction/deposit.ts'
export { encodeSigned, encodeTransaction, signingHash } from './transaction/encode.ts'
export { BLOB_TX_TYPE, DEPOSIT_TX_TYPE, POST_EXEC_TYPE_BYTE } from './transaction/fields.ts'
export { fieldsToJson, transactionFromJson, transactionToJson, typeOfJson } from './transaction/json.ts'
export { type BlobsWithProofs, networkForm, readNetworkForm } from './transaction/networkForm.ts'
export {
  decodePostExecTx,
  encodePostExecTx,
  type GasRefund,
  isPostExecTx,
  type PostExecTx,
  SDM_VERSION,
} from './transaction/postExec.ts'
export { senderOf, TransactionReader } from './transaction/reader.ts'
export {
  invalidatedBlockSourceHash,
  l1InfoSourceHash,
  upgradeSourceHash,
  userDepositSourceHash,
} from './transaction/sourceHash.ts'
export type {
  AccessListEntry,
  Authorization,
  AuthorizationFields,
  DepositTransaction,
  PostExecTransaction,
  Signature,
  SignedTransaction,
  Transaction,
  UnsignedTransaction,
} from './transaction/types.ts'
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
export { bundleNeededAt, MISSING_BUNDLE_TEXT } from './upgrade/lagoonUpgrade.ts'
export {
  BUNDLE_PINS,
  type BundledFork,
  findUpgradeBundle,
  readUpgradeBundle,
  type UpgradeBundle,
  upgradeBundleToJson,
} from './upgrade/upgradeBundle.ts'
export { upgradeDeposits, upgradeDepositsOf, upgradeGas } from './upgrade/upgradeTxs.ts'
