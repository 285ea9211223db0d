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

/** The answer can be read, but is not the block that was asked for. */
export class FalseAnswer extends DeviumError {
  readonly reason: 'wrong-number' | 'wrong-hash' | 'withdrawals'

  constructor(reason: FalseAnswer['reason'], message: string) {
    super(`answer-${reason}`, message)
    this.reason = reason
  }
}

/**
 * What a peer answered when it was asked for the block of this number. Rejects with DecodeError, with FalseAnswer, and
 * with InspectionFailure, for which the peer is not to blame.
 */
export type AnswerReader = (bytes: Uint8Array, number: number, from: string) => Promise<Answer>

/** Small answers are read here, large ones by the process for large messages. */
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

/** op-node's checks (sync.go, verifyBlock), and that of withdrawals, which its engine makes. */
function checkBlock({ envelope, computedHash }: UnpackedBlock, number: number): void {
  const { blockNumber, blockHash, withdrawals = [] } = envelope.payload
  if (blockNumber !== number) throw new FalseAnswer('wrong-number', `asked for block ${number}, got ${blockNumber}`)
  if (computedHash !== blockHash) {
    throw new FalseAnswer('wrong-hash', `block ${number} has hash ${computedHash}, not ${blockHash}`)
  }
  // From Isthmus on they are no part of what is hashed: a block known to be good could come with some.
  if (withdrawals.length > 0) throw new FalseAnswer('withdrawals', `block ${number} has withdrawals`)
}
