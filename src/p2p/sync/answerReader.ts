import { DeviumError } from '../../lib/errors.ts'
import { l2BlockTime } from '../../rollup/protocol/config/forks.ts'
import type { PayloadVersion } from '../../rollup/protocol/payload/payloadSsz.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { decodeSnappyFrames, framedLength } from '../base/snappyFrames.ts'
import type { InspectionProcess } from '../inspection/inspectionProcess.ts'
import { hasManyTransactions, LARGE_BYTES } from '../inspection/largeMessages.ts'
import { type FramedBlock, MAX_RESPONSE_BYTES, readBlock, type UnpackedBlock } from '../inspection/unpackBlock.ts'
import type { Answer } from './client.ts'
import { openResponse } from './payloadByNumber.ts'

/** The answer decodes, but is not the requested block. */
export class FalseAnswer extends DeviumError {
  readonly reason: 'wrong-number' | 'wrong-hash' | 'withdrawals'

  constructor(reason: FalseAnswer['reason'], message: string) {
    super(`answer-${reason}`, message)
    this.reason = reason
  }
}

/**
 * Decodes a peer's answer to the request for block `number`. Rejects with DecodeError, FalseAnswer, or
 * InspectionFailure (for which the peer is not to blame).
 */
export type AnswerReader = (bytes: Uint8Array, number: number, from: string) => Promise<Answer>

/** Small answers are decoded here, large ones in the process for large messages. */
export function createAnswerReader(
  inspector: Pick<InspectionProcess, 'unpackBlock'>,
  config: RollupConfig,
  readHere: (body: Uint8Array, version: PayloadVersion) => UnpackedBlock = readBlock,
): AnswerReader {
  return async (bytes, number, from) => {
    const response = openResponse(bytes, config, l2BlockTime(config, number))
    if (!('block' in response)) return response
    const { block } = response
    const body = isLarge(block) ? undefined : decodeSnappyFrames(block.frames, MAX_RESPONSE_BYTES)
    const unpacked =
      body === undefined || hasManyTransactions(body, block.version)
        ? await inspector.unpackBlock(block, from)
        : readHere(body, block.version)
    checkBlock(unpacked, number)
    return { code: response.code, envelope: unpacked.envelope }
  }
}

function isLarge({ frames }: FramedBlock): boolean {
  return frames.length > LARGE_BYTES || framedLength(frames, MAX_RESPONSE_BYTES) > LARGE_BYTES
}

/** op-node's checks (sync.go, verifyBlock), and the check of withdrawals that its engine makes. */
function checkBlock({ envelope, computedHash }: UnpackedBlock, number: number): void {
  const { blockNumber, blockHash, withdrawals = [] } = envelope.payload
  if (blockNumber !== number) throw new FalseAnswer('wrong-number', `requested block ${number}, got ${blockNumber}`)
  if (computedHash !== blockHash) {
    throw new FalseAnswer('wrong-hash', `block ${number} has hash ${computedHash}, not ${blockHash}`)
  }
  // From Isthmus on, withdrawals are not part of the hash. A block with a good hash could still carry some.
  if (withdrawals.length > 0) throw new FalseAnswer('withdrawals', `block ${number} has withdrawals`)
}
