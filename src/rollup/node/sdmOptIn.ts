import { type Clock, sleep, unixSeconds } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { EngineClient } from '../engine/index.ts'
import { isForkActive } from '../protocol/index.ts'
import type { RollupConfig } from '../protocol/types.ts'

export interface SdmStatus {
  postExecOptIn: boolean
  /** Lagoon is active. */
  protocolActive: boolean
  /** `postExecOptIn` and `protocolActive` are both true: blocks refund gas. */
  effective: boolean
  /** Unix seconds; absent if Lagoon is not scheduled. */
  activationTime?: number
}

export interface SdmOptInOptions {
  /** The operator's decision before a restart; absent: no decision. */
  optIn?: boolean | undefined
  /** Records a decision, so that it survives a restart. */
  onChange?: ((optIn: boolean) => Promise<void>) | undefined
}

interface SdmOptInModules {
  engine: Pick<EngineClient, 'setSdmOptIn'>
  clock: Clock
  logger: Logger
}

/** A restarted engine has lost the opt-in. */
const REPEAT_MS = 60_000

/**
 * Controls whether the sequencer's blocks refund gas by a post-exec transaction. The engine builds the blocks but loses
 * the operator's decision in a restart, so the node stores and repeats it. Verifiers need no decision.
 */
export class SdmOptIn {
  private readonly modules: SdmOptInModules
  private readonly config: Pick<RollupConfig, 'forks'>
  private readonly onChange: SdmOptInOptions['onChange']
  private optIn: boolean
  private isRefused = false

  constructor(modules: SdmOptInModules, config: Pick<RollupConfig, 'forks'>, { optIn, onChange }: SdmOptInOptions) {
    this.modules = modules
    this.config = config
    this.optIn = optIn ?? false
    this.onChange = onChange
  }

  /** Rejects if the engine or the record fails. The previous decision then remains. */
  async set(optIn: boolean): Promise<void> {
    const before = this.optIn
    await this.send(optIn)
    try {
      await this.onChange?.(optIn)
    } catch (error) {
      await this.send(before)
      throw error
    }
    this.optIn = optIn
  }

  /** `timestamp` in Unix seconds; absent: now. */
  status(timestamp = unixSeconds(this.modules.clock)): SdmStatus {
    const protocolActive = isForkActive(this.config, 'lagoon', timestamp)
    const activationTime = this.config.forks.lagoon
    return {
      postExecOptIn: this.optIn,
      protocolActive,
      effective: this.optIn && protocolActive,
      ...(activationTime === undefined ? {} : { activationTime }),
    }
  }

  /** Repeats the opt-in to the engine until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.modules
    while (!signal.aborted) {
      if (this.optIn) {
        await this.send(true).catch((error: unknown) => {
          logger.debug('Could not repeat the SDM opt-in to the engine', { err: describeError(error) })
        })
      }
      await sleep(clock, REPEAT_MS, signal).catch(() => undefined)
    }
  }

  private async send(optIn: boolean): Promise<void> {
    const isTaken = await this.modules.engine.setSdmOptIn(optIn)
    if (!isTaken && !this.isRefused) {
      this.modules.logger.warn('The engine has no admin_setSdmPostExecOptIn: opt in with its own flag or RPC', {
        optIn,
      })
    }
    this.isRefused = !isTaken
  }
}
