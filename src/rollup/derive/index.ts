export { createAttributesBuilder } from './attributesBuilder.ts'
export { type BatchContext, type BatchVerdict, checkSingularBatch } from './batchValidity.ts'
export { DerivationError, type DerivationErrorCode } from './errors.ts'
export type { BatchType, ChannelSnapshot, DerivationEvent, DerivationListener } from './events.ts'
export { createDerivationPipeline, type DerivationModules, type DerivationPipeline } from './pipeline.ts'
export { checkSpanBatch, checkSpanBatchHolocene, type L2Lookup } from './spanBatchValidity.ts'
export type {
  AttributesBuilder,
  BlobSource,
  DerivedAttributes,
  L1Source,
  L2Source,
  StepResult,
} from './types.ts'
