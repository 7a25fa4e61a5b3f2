import { AjvCompiler, type BuildCompilerFromPool } from '@fastify/ajv-compiler';

type Compile = ReturnType<BuildCompilerFromPool>;

/** All servers of a process use the same schemas, so they share the compiled ones. */
const build = AjvCompiler();

/**
 * Builds validators that compile their schema when the first request needs it. Compiling all schemas takes about a third of
 * the CPU that a start needs, and most servers use few of the routes.
 */
export function lazyValidators(): BuildCompilerFromPool {
  return (externalSchemas, options) => {
    let compile: Compile | undefined;
    return (route) => {
      let compiled: ReturnType<Compile> | undefined;
      const validate = (data: unknown) => {
        compile ??= build(externalSchemas, options);
        compiled ??= compile(route);
        const isValid = compiled(data);
        // Fastify reads the errors from the function that it called.
        (validate as ReturnType<Compile>).errors = compiled.errors ?? null;
        return isValid;
      };
      return validate as ReturnType<Compile>;
    };
  };
}
