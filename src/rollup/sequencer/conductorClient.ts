import { type Clock, sleep } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { RpcClient } from '../../lib/jsonRpc/client.ts'
import type { Logger } from '../../lib/logger.ts'
import { payloadEnvelopeToJson } from '../protocol/index.ts'
import type { Conductor } from './conductor.ts'

/** Always temporary: the conductor did not answer, or refuses because it is not the leader. */
export class ConductorError extends DeviumError<'conductor-call'> {
  override readonly name = 'ConductorError'
}

/** op-node: both tries share one time limit. */
const TRIES = 2
const RETRY_MS = 50

export interface ConductorClientOptions {
  /** For a call and its repetition together (op-node's `conductor.rpc-timeout`). */
  timeoutMs: number
}

/** op-conductor's RPC as a sequencer uses it. The constructor does no I/O: the conductor may start later. */
export class ConductorClient implements Conductor {
  readonly enabled = true
  private readonly rpc: Pick<RpcClient, 'request'>
  private readonly clock: Clock
  private readonly logger: Logger
  private readonly timeoutMs: number
  private isOverridden = false

  constructor(
    modules: { rpc: Pick<RpcClient, 'request'>; clock: Clock; logger: Logger },
    { timeoutMs }: ConductorClientOptions,
  ) {
    this.rpc = modules.rpc
    this.clock = modules.clock
    this.logger = modules.logger
    this.timeoutMs = timeoutMs
  }

  async isLeader(): Promise<boolean> {
    if (this.isOverridden) return true
    const answer = await this.call('conductor_leader', [])
    if (typeof answer !== 'boolean') {
      throw new ConductorError('conductor-call', 'conductor_leader answered neither true nor false', {
        severity: 'temporary',
      })
    }
    return answer
  }

  async commit(envelope: Parameters<Conductor['commit']>[0]): Promise<void> {
    if (this.isOverridden) return
    await this.call('conductor_commitUnsafePayload', [payloadEnvelopeToJson(envelope)])
  }

  overrideLeader(): void {
    this.isOverridden = true
    this.logger.warn('Conductor is overridden: this sequencer leads until the process ends, and commits no blocks')
  }

  private async call(method: string, params: readonly unknown[]): Promise<unknown> {
    const startMs = this.clock.now()
    for (let attempt = 1; ; attempt++) {
      const leftMs = this.timeoutMs - (this.clock.now() - startMs)
      try {
        return await this.rpc.request(method, params, { timeoutMs: Math.max(1, leftMs) })
      } catch (cause) {
        const isTimeOver = this.clock.now() - startMs + RETRY_MS >= this.timeoutMs
        if (attempt === TRIES || isTimeOver) {
          throw new ConductorError('conductor-call', `the conductor did not accept ${method}`, {
            cause,
            severity: 'temporary',
          })
        }
        this.logger.debug('Conductor call failed', { method, err: cause })
        await sleep(this.clock, RETRY_MS)
      }
    }
  }
}
