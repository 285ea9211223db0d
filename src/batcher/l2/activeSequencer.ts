import type { RpcClient } from '../../jsonRpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'

type Rpc = Pick<RpcClient, 'request' | 'batch' | 'url'>

/** A rollup node and its execution client. */
export interface SequencerEndpoint {
  rollup: Rpc
  l2: Rpc
}

/** No rollup node reports an active sequencer. Temporary. */
export class NoActiveSequencerError extends DeviumError<'no-active-sequencer'> {
  override readonly name = 'NoActiveSequencerError'
}

export interface ActiveSequencerOptions {
  /** Age of the last check after which the next request checks again which sequencer is active. */
  checkIntervalMs: number
  timeoutMs: number
}

/**
 * Picks the active one of several sequencers. `rollup` and `l2` send their requests to its two endpoints. The check
 * runs with a request, once the last check is older than `checkIntervalMs`. It begins with the last active sequencer.
 */
export class ActiveSequencer {
  readonly rollup: Rpc
  readonly l2: Rpc
  private readonly modules: { clock: Clock; logger: Logger }
  private readonly endpoints: readonly SequencerEndpoint[]
  private readonly options: ActiveSequencerOptions
  private readonly warnings: RepeatedWarnings
  private index = 0
  private checkedAtMs = Number.NEGATIVE_INFINITY
  private checking: Promise<SequencerEndpoint> | undefined

  constructor(
    modules: { clock: Clock; logger: Logger },
    endpoints: readonly SequencerEndpoint[],
    options: ActiveSequencerOptions,
  ) {
    this.modules = modules
    this.endpoints = endpoints
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
    const through = (kind: keyof SequencerEndpoint): Rpc => ({
      url: endpoints.map((endpoint) => endpoint[kind].url).join(','),
      request: async (method, params, call) => (await this.active())[kind].request(method, params, call),
      batch: async (calls, options) => (await this.active())[kind].batch(calls, options),
    })
    this.rollup = through('rollup')
    this.l2 = through('l2')
  }

  /** Throws NoActiveSequencerError. */
  private active(): Promise<SequencerEndpoint> {
    const known = this.endpoints[this.index]
    const { clock } = this.modules
    // The clock may step back.
    if (known !== undefined && Math.abs(clock.now() - this.checkedAtMs) < this.options.checkIntervalMs)
      return Promise.resolve(known)
    this.checking ??= this.find().finally(() => {
      this.checking = undefined
    })
    return this.checking
  }

  private async find(): Promise<SequencerEndpoint> {
    const { clock, logger } = this.modules
    for (let step = 0; step < this.endpoints.length; step++) {
      const index = (this.index + step) % this.endpoints.length
      const endpoint = this.endpoints[index]
      if (endpoint === undefined || !(await this.isActive(endpoint.rollup))) continue
      if (index !== this.index) logger.info('Switched to another active sequencer', { rollup: endpoint.rollup.url })
      this.index = index
      this.checkedAtMs = clock.now()
      return endpoint
    }
    const urls = this.endpoints.map(({ rollup }) => rollup.url).join(', ')
    throw new NoActiveSequencerError(
      'no-active-sequencer',
      `failed to find an active sequencer, tried following urls: ${urls}`,
      { severity: 'temporary' },
    )
  }

  private async isActive(rollup: Rpc): Promise<boolean> {
    try {
      return (await rollup.request('admin_sequencerActive', [], { timeoutMs: this.options.timeoutMs })) === true
    } catch (error) {
      this.warnings.warn(`admin_sequencerActive failed at ${rollup.url}`, error)
      return false
    }
  }
}
