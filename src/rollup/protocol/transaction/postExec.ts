import { DecodeError } from '../../../lib/errors.ts'
import { decodeRlp, encodeTypedRlp, rlpBigInt, rlpList, rlpNumber } from '../../../lib/rlp.ts'
import { POST_EXEC_TYPE_BYTE } from './fields.ts'

// The post-exec transaction that may end a block from Lagoon on (specs: lagoon/post-exec, lagoon/sdm).

/** The one version that Lagoon knows: refunds of the sequencer-defined metering. */
export const SDM_VERSION = 1
const U64_BYTES = 8

export interface PostExecTx {
  version: number
  /** Number of the block that it ends. */
  blockNumber: number
  /** Refunds of version 1; empty in others, whose content is not known. */
  refunds: GasRefund[]
}

export interface GasRefund {
  /** Index of the refunded transaction in the block. */
  index: number
  /** Gas that the transaction used and does not pay for. */
  gasRefund: bigint
}

/** Whether the EIP-2718 encoding is that of a post-exec transaction. */
export function isPostExecTx(encoded: Uint8Array): boolean {
  return encoded[0] === POST_EXEC_TYPE_BYTE
}

/** `0x7d ‖ rlp([version, blockNumber, [[index, gasRefund], …]])`, of version 1. */
export function encodePostExecTx({ version, blockNumber, refunds }: PostExecTx): Uint8Array {
  if (version !== SDM_VERSION) throw new RangeError(`post-exec: cannot encode version ${version}`)
  const list = refunds.map(({ index, gasRefund }) => [index, gasRefund])
  return encodeTypedRlp(POST_EXEC_TYPE_BYTE, [version, blockNumber, list])
}

/** Throws DecodeError. Which versions, numbers and refunds a block may have is for the rules of blocks to say. */
export function decodePostExecTx(encoded: Uint8Array): PostExecTx {
  if (!isPostExecTx(encoded))
    throw new DecodeError(`post-exec: type byte is ${encoded[0]}, expected ${POST_EXEC_TYPE_BYTE}`)
  const fields = rlpList(decodeRlp(encoded.subarray(1)), 'post-exec')
  const version = rlpNumber(fields[0], 'post-exec version')
  if (version > 0xff) throw new DecodeError(`post-exec version: ${version} is no byte`)
  const blockNumber = rlpNumber(fields[1], 'post-exec block number')
  if (version !== SDM_VERSION) return { version, blockNumber, refunds: [] }
  const refunds = rlpList(rlpList(fields, 'post-exec', 3)[2], 'post-exec refunds').map((item) => {
    const [index, gasRefund] = rlpList(item, 'post-exec refund', 2)
    return { index: rlpNumber(index, 'post-exec index'), gasRefund: rlpBigInt(gasRefund, 'gas refund', U64_BYTES) }
  })
  return { version, blockNumber, refunds }
}
