import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Bootnode, Endpoint } from './bootnodes.ts'
import type { NodeRecord } from './nodeRecord.ts'

type Enode = Bootnode & { kind: 'enode' }

/** Bootnodes that are given without a record, which they are asked for. */
export interface EnodeBootnodes {
  /** Asks those that are not in the table. */
  contactMissing(table: readonly Pick<NodeRecord, 'publicKey'>[]): void
  isAt(ip: string): boolean
}

/** A node that has not answered for so long may have moved: its name is looked up again. */
const RESOLVE_AGAIN_MS = 60_000
/** Twice as long each time, up to this: names seldom change, and a node may be down for days. */
const MAX_RESOLVE_AGAIN_MS = 16 * 60_000

interface EnodeState {
  bootnode: Enode
  /** Undefined while the name is not found; kept when it is not found any more. */
  endpoint: Endpoint | undefined
  isResolving: boolean
  hasWarned: boolean
  /** When its name is looked up, unless it has joined the table by then. */
  resolveAtMs: number
  /** From then to the next time. */
  waitMs: number
}

export function createEnodeBootnodes(
  modules: {
    clock: Clock
    logger: Logger
    resolve(bootnode: Enode): Promise<Endpoint>
    /** It joins the table once it has answered. */
    contact(endpoint: Endpoint): void
    isRunning(): boolean
  },
  enodes: readonly Enode[],
): EnodeBootnodes {
  const { clock, logger } = modules
  const states: EnodeState[] = enodes.map((bootnode) => ({
    bootnode,
    endpoint: undefined,
    isResolving: false,
    hasWarned: false,
    resolveAtMs: 0,
    waitMs: RESOLVE_AGAIN_MS,
  }))

  const contact = async (state: EnodeState): Promise<void> => {
    if (clock.now() >= state.resolveAtMs && !state.isResolving) await resolve(state)
    const { endpoint } = state
    if (endpoint === undefined || !modules.isRunning()) return
    try {
      modules.contact(endpoint)
    } catch (error) {
      logger.debug('Bootnode cannot be asked', { ip: endpoint.ip, err: describeError(error) })
    }
  }
  const resolve = async (state: EnodeState): Promise<void> => {
    const { host } = state.bootnode
    state.resolveAtMs = clock.now() + state.waitMs
    state.waitMs = Math.min(MAX_RESOLVE_AGAIN_MS, state.waitMs * 2)
    state.isResolving = true
    try {
      const before = state.endpoint?.ip
      state.endpoint = await modules.resolve(state.bootnode)
      if (before !== undefined && before !== state.endpoint.ip) {
        logger.info('Bootnode has moved', { host, from: before, to: state.endpoint.ip })
      }
    } catch (error) {
      if (state.hasWarned || !modules.isRunning()) return
      state.hasWarned = true
      logger.warn('Bootnode cannot be resolved, going on without it for now', { host, err: describeError(error) })
    } finally {
      state.isResolving = false
    }
  }

  return {
    contactMissing(table) {
      const inTable = new Set(table.map((record) => Buffer.from(record.publicKey).toString('hex')))
      for (const state of states) {
        if (inTable.has(Buffer.from(state.bootnode.publicKey).toString('hex'))) {
          // Should it leave, it is asked where it was for a minute.
          state.resolveAtMs = clock.now() + RESOLVE_AGAIN_MS
          state.waitMs = RESOLVE_AGAIN_MS
        } else void contact(state)
      }
    },
    isAt: (ip) => states.some(({ endpoint }) => endpoint?.ip === ip),
  }
}
