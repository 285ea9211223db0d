import type { RpcClient } from '../../jsonRpc/client.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { payloadEnvelopeToJson } from '../protocol/index.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'

/** Always temporary: the conductor did not answer, or rejected the call because it is not the leader. */
export class ConductorError extends DeviumError<'conductor-call'> {
  override readonly name = 'ConductorError'

  constructor(message: string, cause?: unknown) {
    super('conductor-call', message, { severity: 'temporary', cause })
  }
}

/** As in op-node: both tries share one time limit. */
const TRIES = 2
const RETRY_MS = 50
/** op-node's limit for a commit, regardless of the flag. */
const MAX_COMMIT_MS = 30_000

/** Decides which of several sequencers builds the blocks. */
export type Conductor = Pick<ConductorClient, 'isLeader' | 'commit' | 'overrideLeader'>

/** A client of op-conductor's RPC. The constructor does no I/O: the conductor may start later. */
export class ConductorClient {
  private readonly rpc: Pick<RpcClient, 'request'>
  private readonly clock: Clock
  private readonly logger: Logger
  private readonly timeoutMs: number
  private isOverridden = false

  /** `timeoutMs`: time limit of a call, including its retry (op-node's `conductor.rpc-timeout`). */
  constructor(
    modules: { rpc: Pick<RpcClient, 'request'>; clock: Clock; logger: Logger },
    { timeoutMs }: { timeoutMs: number },
  ) {
    this.rpc = modules.rpc
    this.clock = modules.clock
    this.logger = modules.logger
    this.timeoutMs = timeoutMs
  }

  /** Rejects if the leader is unknown. */
  async isLeader(): Promise<boolean> {
    if (this.isOverridden) return true
    const answer = await this.call('conductor_leader', [], this.timeoutMs)
    if (typeof answer !== 'boolean') {
      throw new ConductorError('conductor_leader returned neither true nor false')
    }
    return answer
  }

  /** Resolves when the cluster has stored the block. Rejects if this sequencer is not the leader. */
  async commit(envelope: PayloadEnvelope): Promise<void> {
    if (this.isOverridden) return
    const timeoutMs = Math.min(this.timeoutMs, MAX_COMMIT_MS)
    await this.call('conductor_commitUnsafePayload', [payloadEnvelopeToJson(envelope)], timeoutMs)
  }

  /** From now until the process ends, this sequencer counts as the leader and commits nothing. */
  overrideLeader(): void {
    this.isOverridden = true
    this.logger.warn('Conductor is overridden: until the process ends, this sequencer leads and commits no blocks')
  }

  private async call(method: string, params: readonly unknown[], timeoutMs: number): Promise<unknown> {
    const startMs = this.clock.now()
    for (let attempt = 1; ; attempt++) {
      const leftMs = timeoutMs - (this.clock.now() - startMs)
      try {
        return await this.rpc.request(method, params, { timeoutMs: Math.max(1, leftMs) })
      } catch (cause) {
        const isTimeOver = this.clock.now() - startMs + RETRY_MS >= timeoutMs
        if (attempt === TRIES || isTimeOver) {
          throw new ConductorError(`the conductor did not accept ${method}`, cause)
        }
        this.logger.debug('Conductor call failed', { method, err: cause })
        await sleep(this.clock, RETRY_MS)
      }
    }
  }
}
