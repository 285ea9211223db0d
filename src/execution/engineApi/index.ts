export { createEngineMethods, type EngineModules, type EngineOptions } from './engineMethods.ts'
export { payloadId } from './payloadId.ts'
