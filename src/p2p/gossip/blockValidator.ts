import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { isForkActive } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'
import type { PayloadVersion } from '../base/topics.ts'
import type { IgnoreReason, RejectReason, Verdict } from '../base/verdict.ts'
import { type Inspection, inspectMessage, type ValidationContext } from '../inspection/inspection.ts'
import { InspectionFailure } from '../inspection/inspectionProcess.ts'
import type { Unpacked } from '../inspection/messageId.ts'
import { MIN_MESSAGE_BYTES } from './params.ts'
import type { SeenBlocks } from './seenBlocks.ts'
import type { Signers } from './signers.ts'

export interface BlockValidatorModules {
  config: RollupConfig
  clock: Clock
  signers: Signers
  seen: SeenBlocks
}

/** The verdict on a large message is a promise, because another process inspects the message. */
export type BlockValidator = (version: PayloadVersion, unpacked: Unpacked) => Verdict | Promise<Verdict>

/** A block's timestamp may be this many seconds ahead of our clock (specs: rollup-node-p2p, "Block validation"). */
const MAX_FUTURE_S = 5

/** The inputs of validation for a message of this version that arrives now. */
export type ValidationContexts = (version: PayloadVersion) => ValidationContext

export function createValidationContexts(
  modules: { config: RollupConfig; clock: Clock; signers: Pick<Signers, 'accepted'> },
  options: { maxAgeS: number },
): ValidationContexts {
  const { config, clock, signers } = modules
  return (version) => {
    const now = unixSeconds(clock)
    return {
      version,
      chainId: config.l2ChainId,
      signers: signers.accepted(),
      earliest: now - options.maxAgeS,
      latest: now + MAX_FUTURE_S,
    }
  }
}

/**
 * The only place where a gossiped block is validated, in op-node's order (gossip.go, BuildBlocksValidator). An accepted
 * block is recorded as seen. An unexpected error is our fault, so the message is ignored; op-node rejects it.
 */
export function createBlockValidator(modules: BlockValidatorModules, options: { maxAgeS: number }): BlockValidator {
  const { config, clock, signers, seen } = modules
  const contexts = createValidationContexts(modules, options)

  const judge: BlockValidator = (version, unpacked) => {
    if (!unpacked.ok) return reject(unpacked.reason)
    if (unpacked.data === undefined) {
      if (!signers.configured()) return ignore('no-signer-configured')
      return unpacked.inspection.then((inspection) => judgeInspected(version, inspection))
    }
    if (unpacked.data.length < MIN_MESSAGE_BYTES) return reject('too-small', `${unpacked.data.length} bytes`)
    if (!signers.configured()) return ignore('no-signer-configured')
    return judgeInspected(version, inspectMessage(unpacked.data, contexts(version)))
  }

  const judgeInspected = (version: PayloadVersion, inspection: Inspection): Verdict => {
    if (inspection.stop === 'bad-signature') return reject('bad-signature')
    if (inspection.stop === 'wrong-signer') return reject('wrong-signer', inspection.signer)
    if (inspection.stop === 'bad-encoding') return reject('bad-encoding', inspection.detail)
    const { envelope } = inspection
    const { payload } = envelope
    const block = { number: payload.blockNumber, hash: payload.blockHash }
    if (inspection.stop === 'untimely') return { ...timeFault(payload.timestamp), block }

    if (inspection.stop === 'too-many-transactions') return { ...ignore('too-many-transactions'), block }

    if (!signers.accepts(inspection.signer)) return reject('wrong-signer', inspection.signer)
    const { computedHash } = inspection
    const isHashWrong = computedHash !== payload.blockHash
    const fault = isHashWrong ? reject('wrong-hash', `computed ${computedHash}`) : shapeFault(version, envelope)
    if (fault !== undefined) return { ...fault, block }

    const known = seen.check(block.number, block.hash)
    if (known === 'too-many') return { ...reject('too-many-at-height'), block }
    if (known === 'seen') return { ...ignore('already-seen'), block }
    seen.record(block.number, block.hash)
    return { result: 'accept', envelope }
  }

  const timeFault = (timestamp: number): Rejection => {
    const now = unixSeconds(clock)
    return timestamp < now
      ? reject('too-old', `${now - timestamp} s old`)
      : reject('from-future', `${timestamp - now} s ahead`)
  }

  const shapeFault = (version: PayloadVersion, { payload, parentBeaconBlockRoot }: PayloadEnvelope) => {
    if (version === 1 && payload.withdrawals !== undefined) return reject('withdrawals', 'present before Canyon')
    if (version >= 2 && payload.withdrawals === undefined) return reject('withdrawals', 'missing')
    if (version >= 2 && payload.withdrawals?.length !== 0) return reject('withdrawals', 'not empty')
    if (version <= 2) {
      if (payload.blobGasUsed !== undefined || payload.excessBlobGas !== undefined) {
        return reject('blob-gas', 'present before Ecotone')
      }
      return undefined
    }
    if (payload.blobGasUsed === undefined) return reject('blob-gas', 'blobGasUsed missing')
    // From Jovian on, `blobGasUsed` holds the block's DA footprint.
    if (payload.blobGasUsed !== 0n && !isForkActive(config, 'jovian', payload.timestamp)) {
      return reject('blob-gas', 'blobGasUsed is not 0')
    }
    if (payload.excessBlobGas !== 0n) return reject('blob-gas', 'excessBlobGas is not 0')
    if (parentBeaconBlockRoot === undefined) return reject('beacon-root', 'missing')
    if (version === 4 && payload.withdrawalsRoot === undefined) return reject('withdrawals-root', 'missing')
    return undefined
  }

  return (version, unpacked) => {
    try {
      const verdict = judge(version, unpacked)
      return verdict instanceof Promise ? verdict.catch(failure) : verdict
    } catch (error) {
      return failure(error)
    }
  }
}

type Rejection = Extract<Verdict, { result: 'reject' }>

function reject(reason: RejectReason, detail?: string): Rejection {
  return detail === undefined ? { result: 'reject', reason } : { result: 'reject', reason, detail }
}

function ignore(reason: IgnoreReason, detail?: string): Extract<Verdict, { result: 'ignore' }> {
  return detail === undefined ? { result: 'ignore', reason } : { result: 'ignore', reason, detail }
}

function failure(error: unknown): Verdict {
  const text = error instanceof Error ? error.message : String(error)
  return ignore(error instanceof InspectionFailure ? error.reason : 'internal-error', text)
}
