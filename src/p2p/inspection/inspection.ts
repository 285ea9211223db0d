import { DecodeError } from '../../lib/errors.ts'
import { keccak256 } from '../../lib/hash.ts'
import type { Hex } from '../../lib/hex.ts'
import { isSignatureWellFormed, publicKeyToAddress, recoverCompact } from '../../lib/secp256k1.ts'
import { orderedTrieRoot } from '../../rollup/protocol/payload/orderedTrie.ts'
import { payloadBlockHash } from '../../rollup/protocol/payload/payload.ts'
import {
  claimedTransactions,
  decodePayloadEnvelope,
  MAX_BLOCK_TRANSACTIONS,
  type PayloadVersion,
  readTransactions,
  type TransactionReader,
  transactionsPlace,
} from '../../rollup/protocol/payload/payloadSsz.ts'
import { payloadSigningHash } from '../../rollup/protocol/payload/signing.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { LARGE_BYTES } from './largeMessages.ts'

/** The node's state that decides about a message, taken when the message arrived. */
export interface ValidationContext {
  version: PayloadVersion
  chainId: bigint
  signers: readonly Hex[]
  /** Bounds of accepted block timestamps, in seconds. */
  earliest: number
  latest: number
}

/** The result of an inspection: the failed check, or the decoded message. */
export type Inspection =
  | { stop: 'bad-signature' }
  | { stop: 'wrong-signer'; signer: Hex }
  | { stop: 'bad-encoding'; detail: string }
  | { stop: 'untimely'; envelope: PayloadEnvelope }
  /** More transactions than any valid block has. */
  | { stop: 'too-many-transactions'; envelope: PayloadEnvelope }
  | { stop: 'none'; signer: Hex; envelope: PayloadEnvelope; computedHash: Hex }

const SIGNATURE_BYTES = 65

export const bodyOf = (message: Uint8Array): Uint8Array => message.subarray(SIGNATURE_BYTES)

/**
 * Inspects an uncompressed message without the node's memory of earlier blocks, so the result is the same in every
 * process. The order of checks is op-node's (gossip.go, BuildBlocksValidator). One exception: a large body is decoded
 * and its time checked before hashing, because a failure there rejects the message whoever signed it.
 */
export function inspectMessage(message: Uint8Array, context: ValidationContext, read?: TransactionReader): Inspection {
  const body = bodyOf(message)
  const signature = message.subarray(0, SIGNATURE_BYTES)
  const yParity = signature[SIGNATURE_BYTES - 1]
  if ((yParity !== 0 && yParity !== 1) || !isSignatureWellFormed(signature.subarray(0, 64))) {
    return { stop: 'bad-signature' }
  }
  const early = body.length > LARGE_BYTES ? decode(body, context, read) : undefined
  if (early !== undefined && 'stop' in early) return early

  const signer = recoverSigner(context.chainId, signature, yParity, keccak256(body))
  if (signer === undefined) return { stop: 'bad-signature' }
  if (!context.signers.includes(signer)) return { stop: 'wrong-signer', signer }

  const envelope = early ?? decode(body, context, read)
  if ('stop' in envelope) return envelope
  if (claimedTransactions(body, context.version) > MAX_BLOCK_TRANSACTIONS) {
    return { stop: 'too-many-transactions', envelope }
  }
  return { stop: 'none', signer, envelope, computedHash: blockHashOf(envelope, body, context.version, read) }
}

type Stop = Extract<Inspection, { stop: 'bad-encoding' | 'untimely' }>

function decode(
  body: Uint8Array,
  context: ValidationContext,
  read: TransactionReader | undefined,
): PayloadEnvelope | Stop {
  let envelope: PayloadEnvelope
  try {
    envelope = decodePayloadEnvelope(body, context.version, read)
  } catch (error) {
    if (error instanceof DecodeError) return { stop: 'bad-encoding', detail: error.message }
    throw error
  }
  const { timestamp } = envelope.payload
  return timestamp < context.earliest || timestamp > context.latest ? { stop: 'untimely', envelope } : envelope
}

/**
 * Block hash of a decoded body. `read` must be the reader that decoded it, since the envelope may lack the
 * transactions.
 */
export function blockHashOf(
  envelope: PayloadEnvelope,
  body: Uint8Array,
  version: PayloadVersion,
  read: TransactionReader | undefined,
): Hex {
  const place = read && transactionsPlace(body, version)
  if (place === undefined) return payloadBlockHash(envelope)
  const transactions = readTransactions(body.subarray(place.start, place.end))
  return payloadBlockHash(envelope, { transactionsRoot: orderedTrieRoot(transactions) })
}

function recoverSigner(chainId: bigint, signature: Uint8Array, yParity: number, bodyHash: Uint8Array): Hex | undefined {
  try {
    return publicKeyToAddress(recoverCompact(payloadSigningHash(chainId, bodyHash), signature.subarray(0, 64), yParity))
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}
