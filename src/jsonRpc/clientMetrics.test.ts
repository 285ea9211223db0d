import { Registry } from 'prom-client'
import { expect, it, onTestFinished } from 'vitest'
import { createRpcClientMetrics } from './clientMetrics.ts'
import { createRpcApp, serveApp } from './httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from './server.ts'
import { createPatientClient } from './testUtils/patientClient.ts'
import { invalidParams } from './types.ts'

it("counts calls, bytes and errors, under op-node's names", async () => {
  const methods = new Map<string, RpcHandler>([
    ['echo', ([param]) => param],
    ['refuse', () => Promise.reject(invalidParams('no'))],
  ])
  const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods }) })
  const server = await serveApp(app, '127.0.0.1', 0, 'test')
  const registry = new Registry()
  const observe = createRpcClientMetrics(registry, 'x')
  const engine = createPatientClient({ url: server.url, observer: observe('engine-api') })
  const l1 = createPatientClient({ url: server.url, observer: observe('l1') })
  onTestFinished(async () => {
    await Promise.all([engine.close(), l1.close(), server.close()])
  })
  const lines = async (name: string) =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(`x_rpc_client_${name}`))

  expect(await engine.request('echo', ['é'])).toBe('é')
  await expect(engine.request('refuse', [1, 2])).rejects.toMatchObject({ rpcCode: -32602 })
  await l1.batch([
    { method: 'echo', params: ['a'] },
    { method: 'refuse', params: [] },
    { method: 'echo', params: ['b'] },
  ])
  expect(await lines('requests_total')).toEqual([
    'x_rpc_client_requests_total{rpc="engine-api",method="echo"} 1',
    'x_rpc_client_requests_total{rpc="engine-api",method="refuse"} 1',
    'x_rpc_client_requests_total{rpc="l1",method="echo"} 2',
    'x_rpc_client_requests_total{rpc="l1",method="refuse"} 1',
  ])
  expect(await lines('responses_total')).toEqual([
    'x_rpc_client_responses_total{rpc="engine-api",method="echo",error="<nil>"} 1',
    'x_rpc_client_responses_total{rpc="engine-api",method="refuse",error="rpc_-32602"} 1',
    'x_rpc_client_responses_total{rpc="l1",method="echo",error="<nil>"} 2',
    'x_rpc_client_responses_total{rpc="l1",method="refuse",error="rpc_-32602"} 1',
  ])
  expect(await lines('params_size_total{rpc="engine-api"')).toEqual([
    'x_rpc_client_params_size_total{rpc="engine-api",method="echo"} 6',
    'x_rpc_client_params_size_total{rpc="engine-api",method="refuse"} 5',
  ])
  expect(await lines('results_size_total{rpc="engine-api"')).toEqual([
    'x_rpc_client_results_size_total{rpc="engine-api",method="echo"} 4',
  ])
  expect(await lines('request_duration_seconds_count')).toHaveLength(4)

  await server.close()
  await expect(engine.request('echo', [])).rejects.toMatchObject({ code: 'rpc-transport' })
  expect(await lines('requests_total{rpc="engine-api",method="echo"')).toEqual([
    'x_rpc_client_requests_total{rpc="engine-api",method="echo"} 2',
  ])
  // No answer arrived.
  expect(await lines('responses_total{rpc="engine-api",method="echo"')).toEqual([
    'x_rpc_client_responses_total{rpc="engine-api",method="echo",error="<nil>"} 1',
  ])
})
