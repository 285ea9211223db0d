import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import type { EngineClient } from '../engine/index.ts'
import {
  computeOutputRoot,
  isForkActive,
  MESSAGE_PASSER_ADDRESS,
  payloadToL2BlockRef,
  verifyAccountProof,
} from '../protocol/index.ts'
import { type ExecutionPayload, type RollupConfig, ZERO_HASH } from '../protocol/types.ts'
import type { OutputAtBlock } from './api.ts'

type OutputEngine = Pick<EngineClient, 'payloadByNumber' | 'proof'>

class OutputError extends DeviumError<'output-block-missing' | 'output-failed'> {
  override readonly name = 'OutputError'
}

/** Maximum concurrent reads of outputs, so that blocks keep enough connections. */
const MAX_READS = 4

/**
 * Reads outputs of version 0 of canonical blocks (specs: proposals, "L2 Output Commitment Construction"), with a limit
 * on concurrent reads. `fromState`: the storage root is always proven from the state.
 */
export function createOutputReader(engine: OutputEngine, config: RollupConfig, { fromState }: { fromState: boolean }) {
  const semaphore = createSemaphore(MAX_READS)
  return (number: number): Promise<Omit<OutputAtBlock, 'syncStatus'>> =>
    semaphore.run(() => readOutputAtBlock(engine, config, number, fromState))
}

async function readOutputAtBlock(
  engine: OutputEngine,
  config: RollupConfig,
  number: number,
  fromState: boolean,
): Promise<Omit<OutputAtBlock, 'syncStatus'>> {
  const envelope = await engine.payloadByNumber(number)
  if (envelope === undefined) {
    // op-node's wording: op-proposer and users recognize it as "not there yet".
    throw new OutputError(
      'output-block-missing',
      `failed to get L2 block ref with sync status: failed to determine L2BlockRef of height ${number}, could not get payload: not found`,
    )
  }
  const { payload } = envelope
  try {
    const withdrawalStorageRoot = await readStorageRoot(engine, config, payload, fromState)
    const { stateRoot, blockHash } = payload
    const outputRoot = computeOutputRoot({ stateRoot, messagePasserStorageRoot: withdrawalStorageRoot, blockHash })
    return {
      version: ZERO_HASH,
      outputRoot,
      blockRef: payloadToL2BlockRef(payload, config),
      withdrawalStorageRoot,
      stateRoot,
    }
  } catch (cause) {
    throw new OutputError('output-failed', `failed to get L2 output at block ${payload.blockHash}:${number}`, { cause })
  }
}

async function readStorageRoot(
  engine: OutputEngine,
  config: RollupConfig,
  payload: ExecutionPayload,
  fromState: boolean,
): Promise<Hex> {
  if (!fromState && isForkActive(config, 'isthmus', payload.timestamp) && payload.withdrawalsRoot !== undefined) {
    return payload.withdrawalsRoot
  }
  const proof = await engine.proof(MESSAGE_PASSER_ADDRESS, [], payload.blockHash)
  verifyAccountProof(proof, payload.stateRoot)
  return proof.storageHash
}
