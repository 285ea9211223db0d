import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { DecodeError } from '../../lib/errors.ts'
import { keccak256 } from '../../lib/hash.ts'
import type { Hex } from '../../lib/hex.ts'
import { publicKeyToAddress, recoverCompact } from '../../lib/secp256k1.ts'
import {
  decodePayloadEnvelope,
  isForkActive,
  payloadBlockHash,
  payloadSigningHash,
} from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'
import { keccak256InSlices, LARGE_BYTES } from './largeMessages.ts'
import type { Unpacked } from './messageId.ts'
import { MIN_MESSAGE_BYTES } from './params.ts'
import type { SeenBlocks } from './seenBlocks.ts'
import type { Signers } from './signers.ts'
import type { PayloadVersion } from './topics.ts'

/** Why a block is not accepted; stable names for logs, metrics and scores. */
export type RejectReason =
  | 'snappy-length'
  | 'too-large'
  | 'too-small'
  | 'snappy-damaged'
  | 'bad-signature'
  | 'wrong-signer'
  | 'bad-encoding'
  | 'too-old'
  | 'from-future'
  | 'wrong-hash'
  | 'withdrawals'
  | 'blob-gas'
  | 'beacon-root'
  | 'withdrawals-root'
  | 'too-many-at-height'
  | 'internal-error'
export type IgnoreReason = 'no-signer-configured' | 'already-seen'

export type Verdict =
  | { result: 'accept'; envelope: PayloadEnvelope; signer: 'current' | 'previous' }
  | { result: 'ignore'; reason: IgnoreReason; block?: BlockName }
  | { result: 'reject'; reason: RejectReason; detail?: string; block?: BlockName }

/** The block as its sender names it, once the payload is decoded. */
export interface BlockName {
  number: number
  hash: Hex
}

export interface BlockValidatorModules {
  config: RollupConfig
  clock: Clock
  signers: Signers
  seen: SeenBlocks
}

/** The verdict on a large message comes after some turns of the event loop. */
export type BlockValidator = (version: PayloadVersion, unpacked: Unpacked) => Verdict | Promise<Verdict>

const SIGNATURE_BYTES = 65
/** Seconds that a block's time may be ahead of ours (specs: rollup-node-p2p, "Block validation"). */
const MAX_FUTURE_S = 5

/**
 * The one place where a gossiped block is judged, in op-node's order (gossip.go, BuildBlocksValidator). An accepted
 * block is recorded as seen. Whatever goes wrong inside is a rejection, as there.
 */
export function createBlockValidator(modules: BlockValidatorModules, options: { maxAgeS: number }): BlockValidator {
  const { config, clock, signers, seen } = modules

  const judge: BlockValidator = (version, unpacked) => {
    if (!unpacked.ok) return reject(unpacked.reason)
    if (unpacked.data.length < MIN_MESSAGE_BYTES) return reject('too-small', `${unpacked.data.length} bytes`)

    const signature = unpacked.data.subarray(0, SIGNATURE_BYTES)
    const body = unpacked.data.subarray(SIGNATURE_BYTES)
    if (!signers.configured()) return { result: 'ignore', reason: 'no-signer-configured' }
    if (body.length <= LARGE_BYTES) return judgeSigned(version, signature, body, keccak256(body))
    // A stranger may send 10 MiB that unpack from half a megabyte: hashing them takes 30 ms.
    return keccak256InSlices(body).then((bodyHash) => judgeSigned(version, signature, body, bodyHash))
  }

  const judgeSigned = (
    version: PayloadVersion,
    signature: Uint8Array,
    body: Uint8Array,
    bodyHash: Uint8Array,
  ): Verdict => {
    const signer = recoverSigner(config.l2ChainId, signature, bodyHash)
    if (signer === undefined) return reject('bad-signature')
    const standing = signers.judge(signer)
    if (standing === 'wrong') return reject('wrong-signer', signer)

    let envelope: PayloadEnvelope
    try {
      envelope = decodePayloadEnvelope(body, version)
    } catch (error) {
      if (error instanceof DecodeError) return reject('bad-encoding', error.message)
      throw error
    }
    const { payload } = envelope
    const block = { number: payload.blockNumber, hash: payload.blockHash }
    const fault = timeFault(payload.timestamp) ?? hashFault(envelope) ?? shapeFault(version, envelope)
    if (fault !== undefined) return { ...fault, block }

    const known = seen.check(block.number, block.hash)
    if (known === 'too-many') return { ...reject('too-many-at-height'), block }
    if (known === 'seen') return { result: 'ignore', reason: 'already-seen', block }
    seen.record(block.number, block.hash)
    return { result: 'accept', envelope, signer: standing }
  }

  const timeFault = (timestamp: number): Rejection | undefined => {
    const now = unixSeconds(clock)
    if (timestamp < now - options.maxAgeS) return reject('too-old', `${now - timestamp} s old`)
    if (timestamp > now + MAX_FUTURE_S) return reject('from-future', `${timestamp - now} s ahead`)
    return undefined
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
    // From Jovian on the field carries the block's DA footprint.
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
      return verdict instanceof Promise ? verdict.catch(internalError) : verdict
    } catch (error) {
      return internalError(error)
    }
  }
}

type Rejection = Extract<Verdict, { result: 'reject' }>

function reject(reason: RejectReason, detail?: string): Rejection {
  return detail === undefined ? { result: 'reject', reason } : { result: 'reject', reason, detail }
}

function internalError(error: unknown): Rejection {
  return reject('internal-error', error instanceof Error ? error.message : String(error))
}

function hashFault(envelope: PayloadEnvelope): Rejection | undefined {
  const computed = payloadBlockHash(envelope)
  return computed === envelope.payload.blockHash ? undefined : reject('wrong-hash', `computed ${computed}`)
}

function recoverSigner(chainId: bigint, signature: Uint8Array, bodyHash: Uint8Array): Hex | undefined {
  const yParity = signature[64]
  if (yParity !== 0 && yParity !== 1) return undefined
  try {
    const key = recoverCompact(payloadSigningHash(chainId, bodyHash), signature.subarray(0, 64), yParity)
    return publicKeyToAddress(key)
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}
