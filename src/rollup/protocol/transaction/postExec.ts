import { DecodeError } from '../../../lib/errors.ts'
import { decodeRlp, encodeTypedRlp, rlpBigInt, rlpList, rlpNumber } from '../../../lib/rlp.ts'
import { POST_EXEC_TYPE_BYTE } from './fields.ts'

// The post-exec transaction, which may be the last of a block since Lagoon (specs: lagoon/post-exec, lagoon/sdm).

/** The only version in Lagoon: refunds of the sequencer-defined metering. */
export const SDM_VERSION = 1
const U64_BYTES = 8

export interface PostExecTx {
  version: number
  blockNumber: number
  /** Refunds of version 1. Empty for other versions, whose content is unknown. */
  refunds: GasRefund[]
}

export interface GasRefund {
  /** Index of the refunded transaction in the block. */
  index: number
  /** Gas that the transaction used but does not pay for. */
  gasRefund: bigint
}

export function isPostExecTx(encoded: Uint8Array): boolean {
  return encoded[0] === POST_EXEC_TYPE_BYTE
}

/** Version 1: `0x7d ‖ rlp([version, blockNumber, [[index, gasRefund], …]])`. */
export function encodePostExecTx({ version, blockNumber, refunds }: PostExecTx): Uint8Array {
  if (version !== SDM_VERSION) throw new RangeError(`post-exec: cannot encode version ${version}`)
  const list = refunds.map(({ index, gasRefund }) => [index, gasRefund])
  return encodeTypedRlp(POST_EXEC_TYPE_BYTE, [version, blockNumber, list])
}

/** Throws DecodeError. The rules of blocks check which versions, numbers and refunds are allowed. */
export function decodePostExecTx(encoded: Uint8Array): PostExecTx {
  if (!isPostExecTx(encoded))
    throw new DecodeError(`post-exec: type byte is ${encoded[0]}, expected ${POST_EXEC_TYPE_BYTE}`)
  const fields = rlpList(decodeRlp(encoded.subarray(1)), 'post-exec')
  const version = rlpNumber(fields[0], 'post-exec version')
  if (version > 0xff) throw new DecodeError(`post-exec version: ${version} is not a byte`)
  const blockNumber = rlpNumber(fields[1], 'post-exec block number')
  if (version !== SDM_VERSION) return { version, blockNumber, refunds: [] }
  const refunds = rlpList(rlpList(fields, 'post-exec', 3)[2], 'post-exec refunds').map((item) => {
    const [index, gasRefund] = rlpList(item, 'post-exec refund', 2)
    return { index: rlpNumber(index, 'post-exec index'), gasRefund: rlpBigInt(gasRefund, 'gas refund', U64_BYTES) }
  })
  return { version, blockNumber, refunds }
}
