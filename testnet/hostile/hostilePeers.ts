import { join } from 'node:path'
import { isForkActive } from '../../src/rollup/protocol/index.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { binDirectory } from '../runner/binDirectory.ts'
import type { NodeEndpoints } from '../runner/events.ts'
import type { TestnetLayout } from '../runner/layout.ts'
import type { RunningPrograms } from '../runner/runningPrograms.ts'

/** Hostile peers that attack nodes. Each is a separate program. */
export class HostilePeers {
  private readonly programs: RunningPrograms
  private readonly options: { chain: ChainParameters; layout: TestnetLayout }
  private readonly running = new Set<string>()

  constructor(programs: RunningPrograms, options: { chain: ChainParameters; layout: TestnetLayout }) {
    this.programs = programs
    this.options = options
  }

  /** Returns false if this attack on this node is already running. */
  start(kind: string, { name: node, p2p }: Pick<NodeEndpoints, 'name' | 'p2p'>): boolean {
    const { chain, layout } = this.options
    const name = `hostile-${kind}-${node}`
    if (this.running.has(name)) return false
    this.running.add(name)
    const version = isForkActive(chain, 'isthmus', Math.floor(Date.now() / 1000)) ? '4' : '3'
    this.programs.start({
      name,
      command: { script: join(binDirectory(), 'devium-hostile-peer.mjs') },
      args: [kind, p2p, String(chain.l2ChainId), version],
      logPath: layout.log(name),
    })
    return true
  }

  /** Stops all hostile peers. Returns how many there were. */
  async end(): Promise<number> {
    const names = [...this.running]
    this.running.clear()
    for (const name of names) {
      if (this.programs.isRunning(name)) await this.programs.end(name, 'SIGKILL')
      this.programs.forget(name)
    }
    return names.length
  }
}
