import type { Logger } from '../../lib/logger.ts'
import type { L1BlockRef, RollupConfig } from '../protocol/types.ts'
import { type DerivationListener, ignoreEvents } from './events.ts'
import type { Pull } from './types.ts'

/** A stage, as the stage above pulls it. */
export interface Source<T> {
  /** The L1 block to which the items belong. */
  readonly origin: L1BlockRef
  next(): Promise<Pull<T>>
}

export interface ChannelSource<T> extends Source<T> {
  /** Drops the channel in progress, if the fork's rules require it. */
  flushChannel(): void
}

export interface StageModules<Prev> {
  prev: Prev
  logger: Logger
  emit?: DerivationListener
}

/** The common part of the stages from frames to batches. */
export abstract class Stage<Prev extends { readonly origin: L1BlockRef }> {
  protected readonly prev: Prev
  protected readonly logger: Logger
  protected readonly emit: DerivationListener
  protected readonly config: RollupConfig

  constructor({ prev, logger, emit = ignoreEvents }: StageModules<Prev>, config: RollupConfig) {
    this.prev = prev
    this.logger = logger
    this.emit = emit
    this.config = config
  }

  get origin(): L1BlockRef {
    return this.prev.origin
  }
}
