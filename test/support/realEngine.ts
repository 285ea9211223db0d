import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initChain } from '../../src/execution/index.ts'
import { type ExecutionNode, openExecutionNode } from '../../src/execution/testUtils/executionNode.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { JsonRpcError, type JsonValue } from '../../src/jsonRpc/types.ts'
import { toHex } from '../../src/lib/hex.ts'
import { createEngineClient, type EngineClient } from '../../src/rollup/engine/index.ts'
import type { RollupConfig } from '../../src/rollup/protocol/index.ts'

/** A test's response in place of the engine's: a value or an error. Undefined: the engine answers. */
export type EngineFault = (method: string, params: readonly unknown[]) => unknown

/**
 * This project's execution client as the engine of an action test, over HTTP, on a data directory that survives restarts. Its
 * client is the rollup node's own.
 */
export class RealEngine {
  readonly client: EngineClient
  /** Names of Engine API calls, in order. */
  readonly calls: string[] = []
  fault: EngineFault | undefined
  private readonly folder: string
  private running: ExecutionNode | undefined
  private snapshots = 0

  private constructor(config: RollupConfig, folder: string) {
    this.folder = folder
    this.client = createEngineClient({ rpc: this.rpc() }, config)
  }

  static async start(genesis: unknown, config: RollupConfig): Promise<RealEngine> {
    const engine = new RealEngine(config, mkdtempSync(join(tmpdir(), 'devium-real-engine-')))
    await initChain(engine.datadir, genesis)
    await engine.open()
    return engine
  }

  /** Calls any method of the engine, bypassing the faults. */
  request(method: string, params: readonly unknown[]): Promise<unknown> {
    if (this.running === undefined) return Promise.reject(new Error('connect ECONNREFUSED'))
    return this.running.engine.request(method, params)
  }

  async sendTransaction(encoded: Uint8Array): Promise<void> {
    await this.request('eth_sendRawTransaction', [toHex(encoded)])
  }

  /** Stops the engine. Calls fail until it is opened again. */
  async shutDown(): Promise<void> {
    const { running } = this
    this.running = undefined
    await running?.close()
  }

  async open(): Promise<void> {
    this.running = await openExecutionNode(this.datadir)
  }

  /** Copies the data. The returned function restarts the engine with the copy, so that later data is lost. */
  async snapshot(): Promise<() => Promise<void>> {
    const kept = join(this.folder, `kept-${this.snapshots++}`)
    await this.shutDown()
    cpSync(this.datadir, kept, { recursive: true })
    await this.open()
    return async () => {
      await this.shutDown()
      rmSync(this.datadir, { recursive: true })
      cpSync(kept, this.datadir, { recursive: true })
      await this.open()
    }
  }

  async close(): Promise<void> {
    await this.shutDown()
    rmSync(this.folder, { recursive: true, force: true })
  }

  private get datadir(): string {
    return join(this.folder, 'data')
  }

  private rpc(): RpcClient {
    const request = async (method: string, params: readonly unknown[]): Promise<unknown> => {
      if (method.startsWith('engine_')) this.calls.push(method)
      const answer = this.fault?.(method, params)
      return answer === undefined ? this.request(method, params) : answer
    }
    return {
      url: 'http://engine',
      request,
      async batch(calls) {
        const answers: (JsonValue | JsonRpcError)[] = []
        for (const { method, params } of calls) {
          const answer = await request(method, params).catch((error: unknown) => {
            if (error instanceof JsonRpcError) return error
            throw error
          })
          answers.push(answer as JsonValue | JsonRpcError)
        }
        return answers
      },
      close: async () => undefined,
    }
  }
}
