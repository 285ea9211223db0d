import { l2BlockTime } from '../../rollup/protocol/forks.ts'
import type { PayloadVersion } from '../../rollup/protocol/payloadSsz.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { P2pError } from '../errors.ts'
import type { InspectionThread } from '../gossip/inspectionThread.ts'
import { hasManyTransactions, LARGE_BYTES } from '../gossip/largeMessages.ts'
import type { Answer } from './client.ts'
import { openResponse } from './payloadByNumber.ts'
import { decodeSnappyFrames, framedLength } from './snappyFrames.ts'
import { type FramedBlock, MAX_RESPONSE_BYTES, readBlock, type UnpackedBlock } from './unpackBlock.ts'

/**
 * What a peer answered (in a buffer of its own, which may be gone afterwards) when it was asked for the block of this number. Rejects with DecodeError, with P2pError
 * (`request-failed`) when it is another block or none whose hash is right, and with InspectionFailure, for which the peer
 * is not to blame.
 */
export type AnswerReader = (bytes: Uint8Array, number: number, from: string) => Promise<Answer>

/** Small answers are read here, large ones by the thread. */
export function createAnswerReader(
  thread: Pick<InspectionThread, 'unpackBlock'>,
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
        ? await thread.unpackBlock(block, from)
        : readHere(body, block.version)
    checkBlock(unpacked, number)
    return { code: response.code, envelope: unpacked.envelope }
  }
}

function isLarge({ frames }: FramedBlock): boolean {
  return frames.length > LARGE_BYTES || framedLength(frames, MAX_RESPONSE_BYTES) > LARGE_BYTES
}

function checkBlock({ envelope, computedHash }: UnpackedBlock, number: number): void {
  const { blockNumber, blockHash } = envelope.payload
  if (blockNumber !== number) throw new P2pError('request-failed', `asked for block ${number}, got ${blockNumber}`)
  if (computedHash !== blockHash) {
    throw new P2pError('request-failed', `block ${number} has hash ${computedHash}, not ${blockHash}`)
  }
}
