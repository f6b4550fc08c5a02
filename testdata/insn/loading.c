/* loading - a library that is loaded while the program runs, whose functions are bound when they
 * are first called, and unloaded.  */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    double sum = 0;

    for (int round = 0; round < 2; round++) {
        void *library = dlopen("libm.so.6", RTLD_LAZY);
        double (*root)(double), (*power)(double, double);

        if (!library)
            return 1;
        *(void **)&root = dlsym(library, "sqrt");
        *(void **)&power = dlsym(library, "pow");
        if (!root || !power)
            return 1;
        for (int i = 0; i < 5; i++)
            sum += root(i) + power(i, 1.5);
        if (dlclose(library) != 0)
            return 1;
    }
    printf("%.0f\n", sum);
    return 0;
}
