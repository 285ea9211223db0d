import { type Clock, sleep, unixSeconds } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { isForkActive } from '../protocol/index.ts'
import type { RollupConfig } from '../protocol/types.ts'

/** Answer of admin_sdmStatus. */
export interface SdmStatus {
  /** The operator has opted in. */
  postExecOptIn: boolean
  /** Lagoon is active. */
  protocolActive: boolean
  /** Both. */
  effective: boolean
  /** Unix seconds; absent where Lagoon is not scheduled. */
  activationTime?: number
}

export interface SdmOptInOptions {
  /** As the operator decided before a restart; absent: never. */
  optIn?: boolean | undefined
  /** Records a decision, so that it outlives the process. */
  onChange?: ((optIn: boolean) => Promise<void>) | undefined
}

interface SdmOptInModules {
  engine: {
    /** False where the engine has no such method. */
    setSdmOptIn(optIn: boolean): Promise<boolean>
  }
  clock: Clock
  logger: Logger
}

/** An engine that restarts has forgotten the opt-in. */
const REPEAT_MS = 60_000

/**
 * Whether the sequencer's blocks refund gas by a post-exec transaction. The engine builds them, and forgets the operator's decision when it
 * restarts: the node keeps the decision and repeats it. Verifiers need none.
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

  /** Rejects when the engine or the record fails; the decision is then the one before. */
  async set(optIn: boolean): Promise<void> {
    const before = this.optIn
    await this.tell(optIn)
    try {
      await this.onChange?.(optIn)
    } catch (error) {
      await this.tell(before)
      throw error
    }
    this.optIn = optIn
  }

  /** `timestamp`: Unix seconds; absent: now. */
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

  /** Repeats an opt-in to the engine until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.modules
    while (!signal.aborted) {
      if (this.optIn) {
        await this.tell(true).catch((error: unknown) => {
          logger.debug('Could not repeat the SDM opt-in to the engine', { err: describeError(error) })
        })
      }
      await sleep(clock, REPEAT_MS, signal).catch(() => undefined)
    }
  }

  private async tell(optIn: boolean): Promise<void> {
    const isTaken = await this.modules.engine.setSdmOptIn(optIn)
    if (!isTaken && !this.isRefused) {
      this.modules.logger.warn('The engine has no admin_setSdmPostExecOptIn: opt in by its own flag or RPC', { optIn })
    }
    this.isRefused = !isTaken
  }
}
