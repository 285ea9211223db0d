import type { Hex } from '../../lib/hex.ts'
import { isDepositTx } from '../protocol/index.ts'
import type { L2BlockRef, PayloadAttributes, PayloadEnvelope } from '../protocol/types.ts'
import { buildStartError, EngineError } from './engineErrors.ts'
import type { Engine, ForkchoiceState } from './types.ts'

export interface BuildJob {
  payloadId: Hex
  parent: L2BlockRef
  timestamp: number
  attributes: PayloadAttributes
}

/** Makes `parent` the engine's head and starts a block on it. */
export async function startBlock(
  engine: Engine,
  state: ForkchoiceState,
  parent: L2BlockRef,
  attributes: PayloadAttributes,
): Promise<BuildJob> {
  let result: Awaited<ReturnType<Engine['forkchoiceUpdated']>>
  try {
    result = await engine.forkchoiceUpdated(state, attributes)
  } catch (error) {
    throw buildStartError(error)
  }
  const { status, validationError } = result.payloadStatus
  if (status === 'INVALID' || status === 'INVALID_BLOCK_HASH') {
    throw new EngineError('invalid-payload', `engine rejects building on ${parent.hash}: ${validationError ?? status}`)
  }
  if (status !== 'VALID') {
    throw new EngineError('engine-syncing', `engine answers ${status} to building on ${parent.hash}`)
  }
  if (result.payloadId === undefined) {
    throw new EngineError('engine-call', 'engine started no block although attributes were sent')
  }
  return { payloadId: result.payloadId, parent, timestamp: attributes.timestamp, attributes }
}

/** Returns the finished block. After any error the job is lost, and its attributes must be sent again. */
export async function fetchBlock(engine: Engine, job: BuildJob): Promise<PayloadEnvelope> {
  let envelope: PayloadEnvelope
  try {
    envelope = await engine.getPayload(job.payloadId, job.timestamp)
  } catch (cause) {
    const message = `the engine lost block ${job.parent.number + 1} while it was built`
    throw new EngineError('payload-expired', message, { cause })
  }
  const { payload } = envelope
  if (payload.parentHash !== job.parent.hash || payload.timestamp !== job.timestamp) {
    throw new EngineError('payload-expired', `engine returned a block that does not match the build job`, {
      details: { parent: payload.parentHash, expectedParent: job.parent.hash },
    })
  }
  const problem = checkTransactionOrder(payload.transactions)
  if (problem !== undefined) throw new EngineError('invalid-payload', problem)
  // The beacon root comes from the attributes. Some engines omit it from their answer.
  if (envelope.parentBeaconBlockRoot !== undefined || job.attributes.parentBeaconBlockRoot === undefined)
    return envelope
  return { payload, parentBeaconBlockRoot: job.attributes.parentBeaconBlockRoot }
}

/** At least one deposit (the L1 info) must exist, and deposits must come first; undefined if this holds. */
export function checkTransactionOrder(transactions: readonly Uint8Array[]): string | undefined {
  const [first] = transactions
  if (first === undefined || !isDepositTx(first)) return 'first transaction is not a deposit'
  const lastDeposit = transactions.findLastIndex(isDepositTx)
  const firstOther = transactions.findIndex((transaction) => !isDepositTx(transaction))
  return firstOther !== -1 && lastDeposit > firstOther
    ? `deposit at ${lastDeposit} follows another transaction`
    : undefined
}

export function isDepositsOnly(attributes: PayloadAttributes): boolean {
  return attributes.transactions.every(isDepositTx)
}

/** The attributes of the block that replaces an invalid block (specs: holocene/derivation, "Engine Queue"). */
export function withDepositsOnly(attributes: PayloadAttributes): PayloadAttributes {
  return {
    ...attributes,
    noTxPool: true,
    transactions: attributes.transactions.filter(isDepositTx),
  }
}
