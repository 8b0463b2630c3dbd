"""Order-parameter dynamics of a two-layer student and teacher, g(x) = x

Generated, do not edit: change the recipe and generate again. The module stands alone; it needs
math, numpy and numba and nothing else.

Recipe:
    student activation  x
    teacher activation  x
    SymPy               1.14.0
    recipe digest       8bd9384470adf3b8

Equations:
    x[i] and y[n] are the fields of student and teacher, g and h their activations, E[..] is
    a mean over the inputs; sums run over all values of their index.
    error = sum_p(v[p]*sum_q(E[g(x[p])*g(x[q])]*v[q]))/2 -
        sum_p(v[p]*sum_m(E[g(x[p])*h(y[m])]*v_teacher[m])) +
        sum_m(v_teacher[m]*sum_n(E[h(y[m])*h(y[n])]*v_teacher[n]))/2
    A[i, j] = E[g'(x[i])*g'(x[j])]*v[i]*v[j] + delta(i, j)*v[i]*sum_p(E[g(x[p])*g''(x[i])]*v[p])
        - delta(i, j)*v[i]*sum_m(E[g''(x[i])*h(y[m])]*v_teacher[m])
    B[i, n] = -E[g'(x[i])*h'(y[n])]*v[i]*v_teacher[n]
    dv[i] = sum_p(E[g(x[i])*g(x[p])]*v[p]) - sum_m(E[g(x[i])*h(y[m])]*v_teacher[m])
    Gamma[i, j] = label_noise**2*E[g'(x[i])*g'(x[j])]*v[i]*v[j] +
        v[i]*v[j]*sum_p(v[p]*sum_q(E[g(x[p])*g(x[q])*g'(x[i])*g'(x[j])]*v[q])) -
        2*v[i]*v[j]*sum_p(v[p]*sum_m(E[g(x[p])*g'(x[i])*g'(x[j])*h(y[m])]*v_teacher[m])) +
        v[i]*v[j]*sum_m(v_teacher[m]*sum_n(E[g'(x[i])*g'(x[j])*h(y[m])*h(y[n])]*v_teacher[n]))
    Q[i, j] = sum_k(eigenvalue[k]*student_overlap[i, j, k]*weight[k])
    R[i, n] = sum_k(cross_overlap[i, n, k]*weight[k])
    d student_overlap[i, j, k]/d alpha = learning_rate**2*Gamma[i, j]*eigenvalue[k] -
        learning_rate*eigenvalue[k]*sum_p(A[i, p]*student_overlap[j, p, k]) -
        learning_rate*eigenvalue[k]*sum_p(A[j, p]*student_overlap[i, p, k]) -
        learning_rate*sum_m(B[i, m]*cross_overlap[j, m, k]) -
        learning_rate*sum_m(B[j, m]*cross_overlap[i, m, k]) -
        2*weight_decay*student_overlap[i, j, k]
    d cross_overlap[i, n, k]/d alpha =
        -learning_rate*eigenvalue[k]*sum_p(A[i, p]*cross_overlap[p, n, k]) -
        learning_rate*sum_m(B[i, m]*teacher_overlap[n, m, k]) -
        weight_decay*cross_overlap[i, n, k]
    d v[i]/d alpha = -second_layer_learning_rate*dv[i] - second_layer_weight_decay*v[i]

Operations, each line of a loop counted once:
    student_activation 0, student_activation_derivative 0, teacher_activation 1, i2 0, i4 0,
    generalization_error 21, first_layer_gradients 3, second_layer_gradient 7, gradients 0, noise
    22, order_parameters 5, observables 0, right_hand_side 34

Digests (SHA-256):
    program  ac8ad0d9bd95b12aa7d9faf2ef8023220d530f13e452657d4865e81a98fd76b1
    code     6bd22c6d5ecd0c183e28c72e4390b32fd4ed17093a053cd6ee7fedf6ef806eb6
Ordered by SymPy 1.14.
"""

import math

import numpy as np
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

FORMAT = 2
STUDENT_ACTIVATION = "x"
TEACHER_ACTIVATION = "x"
_SPECIALISED = {}
RECIPE = {
    "student activation": "x",
    "teacher activation": "x",
    "SymPy": "1.14.0",
    "recipe digest": "8bd9384470adf3b8",
}

_compiled = njit(cache=True, error_model="numpy", fastmath=False, no_cfunc_wrapper=True)
_compiled_value = njit(cache=True, error_model="numpy", fastmath=False)
_compiled_sums = njit(cache=True, error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True)


@_compiled_value
def student_activation(x):
    """The student's activation g(x)."""
    return x


@_compiled_value
def student_activation_derivative(x):
    """Its derivative g'(x)."""
    return 1.0


@_compiled_value
def teacher_activation(x):
    """The teacher's activation."""
    return student_activation(x)


@_compiled
def i2(c11, c12, c22):
    """E[g(a) g(b)]."""
    return c12


@_compiled
def i4(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """E[g'(a) g'(b) g(c) g(d)]."""
    return c34


@_compiled
def generalization_error(Q, R, T, v, v_teacher):
    """Mean of (student - teacher)**2 / 2 over the inputs, without label noise.

    Inputs:
        Q          (K, K)  covariance E[x_i x_j] of the student fields
        R          (K, M)  covariance E[x_i y_n] of student and teacher fields
        T          (M, M)  covariance E[y_n y_m] of the teacher fields
        v          (K)     output weights of the student
        v_teacher  (M)     output weights of the teacher

    Returns:
        error      scalar  the generalisation error
    """
    K = Q.shape[0]
    M = T.shape[0]
    sum_over_m = 0.0
    for m in range(M):
        sum_over_n = 0.0
        for n in range(m + 1):
            sum_over_n += (1.0 if m == n else 2.0) * v_teacher[n] * i2(T[m, m], T[m, n], T[n, n])
        sum_over_m += v_teacher[m] * sum_over_n
    sum_over_p = 0.0
    for p in range(K):
        sum_over_q = 0.0
        for q in range(p + 1):
            sum_over_q += (1.0 if p == q else 2.0) * v[q] * i2(Q[p, p], Q[p, q], Q[q, q])
        sum_over_m_2 = 0.0
        for m in range(M):
            sum_over_m_2 += v_teacher[m] * i2(Q[p, p], R[p, m], T[m, m])
        sum_over_p += v[p] * (sum_over_m_2 - 0.5 * sum_over_q)
    error = 0.5 * sum_over_m - sum_over_p
    return error


@_compiled
def first_layer_gradients(Q, R, T, v, v_teacher, A, B):
    """Derivatives of the generalisation error by Q (one variable for Q_ij and Q_ji) and R.

    Inputs:
        Q          (K, K)  covariance E[x_i x_j] of the student fields
        R          (K, M)  covariance E[x_i y_n] of student and teacher fields
        T          (M, M)  covariance E[y_n y_m] of the teacher fields
        v          (K)     output weights of the student
        v_teacher  (M)     output weights of the teacher

    Outputs, in place:
        A          (K, K)  (1 + delta_ij) d error / d Q_ij
        B          (K, M)  d error / d R_in
    """
    K = Q.shape[0]
    M = T.shape[0]
    for i in range(K):
        for j in range(i + 1):
            A[i, j] = v[i] * v[j]
            A[j, i] = A[i, j]
        for n in range(M):
            B[i, n] = -v[i] * v_teacher[n]


@_compiled
def second_layer_gradient(Q, R, T, v, v_teacher, dv):
    """Derivatives of the generalisation error by v.

    Inputs:
        Q          (K, K)  covariance E[x_i x_j] of the student fields
        R          (K, M)  covariance E[x_i y_n] of student and teacher fields
        T          (M, M)  covariance E[y_n y_m] of the teacher fields
        v          (K)     output weights of the student
        v_teacher  (M)     output weights of the teacher

    Outputs, in place:
        dv         (K)     d error / d v_i
    """
    K = Q.shape[0]
    M = T.shape[0]
    for i in range(K):
        sum_over_m = 0.0
        for m in range(M):
            sum_over_m += v_teacher[m] * i2(Q[i, i], R[i, m], T[m, m])
        sum_over_p = 0.0
        for p in range(K):
            sum_over_p += v[p] * i2(Q[i, i], Q[i, p], Q[p, p])
        dv[i] = sum_over_p - sum_over_m


@_compiled
def gradients(Q, R, T, v, v_teacher, A, B, dv):
    """Derivatives of the generalisation error by Q (one variable for Q_ij and Q_ji), R, v.

    Inputs:
        Q          (K, K)  covariance E[x_i x_j] of the student fields
        R          (K, M)  covariance E[x_i y_n] of student and teacher fields
        T          (M, M)  covariance E[y_n y_m] of the teacher fields
        v          (K)     output weights of the student
        v_teacher  (M)     output weights of the teacher

    Outputs, in place:
        A          (K, K)  (1 + delta_ij) d error / d Q_ij
        B          (K, M)  d error / d R_in
        dv         (K)     d error / d v_i
    """
    first_layer_gradients(Q, R, T, v, v_teacher, A, B)
    second_layer_gradient(Q, R, T, v, v_teacher, dv)


@_compiled
def noise(Q, R, T, v, v_teacher, label_noise, Gamma):
    """Mean of the product of two students' forces, with label noise.

    Inputs:
        Q            (K, K)  covariance E[x_i x_j] of the student fields
        R            (K, M)  covariance E[x_i y_n] of student and teacher fields
        T            (M, M)  covariance E[y_n y_m] of the teacher fields
        v            (K)     output weights of the student
        v_teacher    (M)     output weights of the teacher
        label_noise  scalar  standard deviation of the label noise

    Outputs, in place:
        Gamma        (K, K)  coefficient of learning_rate**2 eigenvalue in dQ_k
    """
    K = Q.shape[0]
    M = T.shape[0]
    label_noise_squared = label_noise * label_noise
    for i in range(K):
        for j in range(i + 1):
            sum_over_p = 0.0
            for p in range(K):
                sum_over_q = 0.0
                for q in range(p + 1):
                    sum_over_q += (1.0 if p == q else 2.0) * Q[p, q] * v[q]
                sum_over_m = 0.0
                for m in range(M):
                    sum_over_m += R[p, m] * v_teacher[m]
                sum_over_p += v[p] * (sum_over_m - 0.5 * sum_over_q)
            sum_over_m_2 = 0.0
            for m in range(M):
                sum_over_n = 0.0
                for n in range(m + 1):
                    sum_over_n += (1.0 if m == n else 2.0) * T[m, n] * v_teacher[n]
                sum_over_m_2 += v_teacher[m] * sum_over_n
            Gamma[i, j] = v[i] * v[j] * (label_noise_squared + sum_over_m_2 - 2.0 * sum_over_p)
            Gamma[j, i] = Gamma[i, j]


@_compiled_sums
def order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R):
    """Covariances of the fields from the overlaps per eigenvalue.

    Inputs:
        student_overlap  (K, K, L)  overlaps Q_k of the students per eigenvalue
        cross_overlap    (K, M, L)  overlaps r_k of students and teachers
        eigenvalue       (L)        distinct eigenvalues of the inputs
        weight           (L)        their multiplicities over the input dimension

    Outputs, in place:
        Q                (K, K)     covariance E[x_i x_j] of the student fields
        R                (K, M)     covariance E[x_i y_n] of student and teacher fields
    """
    K = student_overlap.shape[0]
    M = cross_overlap.shape[1]
    L = eigenvalue.shape[0]
    for i in range(K):
        for j in range(i + 1):
            sum_over_k = 0.0
            for k in range(L):
                sum_over_k += eigenvalue[k] * student_overlap[i, j, k] * weight[k]
            Q[i, j] = sum_over_k
            Q[j, i] = Q[i, j]
        for n in range(M):
            sum_over_k_2 = 0.0
            for k in range(L):
                sum_over_k_2 += cross_overlap[i, n, k] * weight[k]
            R[i, n] = sum_over_k_2


@_compiled
def observables(student_overlap, cross_overlap, eigenvalue, weight, T, v, v_teacher, Q, R):
    """Covariances of the fields and, returned, the generalisation error of a state.

    Inputs:
        student_overlap  (K, K, L)  overlaps Q_k of the students per eigenvalue
        cross_overlap    (K, M, L)  overlaps r_k of students and teachers
        eigenvalue       (L)        distinct eigenvalues of the inputs
        weight           (L)        their multiplicities over the input dimension
        T                (M, M)     covariance E[y_n y_m] of the teacher fields
        v                (K)        output weights of the student
        v_teacher        (M)        output weights of the teacher

    Outputs, in place:
        Q                (K, K)     covariance E[x_i x_j] of the student fields
        R                (K, M)     covariance E[x_i y_n] of student and teacher fields

    Returns:
        error            scalar     the generalisation error
    """
    order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
    error = generalization_error(Q, R, T, v, v_teacher)
    return error


@_compiled
def right_hand_side(
    student_overlap, cross_overlap, v, eigenvalue, weight, teacher_overlap, T, v_teacher,
    learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
    full_order, d_student_overlap, d_cross_overlap, d_v,
):
    """Time derivatives of a state; time is examples over input dimension.

    Inputs:
        student_overlap             (K, K, L)  overlaps Q_k of the students per eigenvalue
        cross_overlap               (K, M, L)  overlaps r_k of students and teachers
        v                           (K)        output weights of the student
        eigenvalue                  (L)        distinct eigenvalues of the inputs
        weight                      (L)        their multiplicities over the input dimension
        teacher_overlap             (M, M, L)  overlaps t_k of the teachers
        T                           (M, M)     covariance E[y_n y_m] of the teacher fields
        v_teacher                   (M)        output weights of the teacher
        learning_rate               scalar     of the first layer
        second_layer_learning_rate  scalar     0 keeps the output weights
        weight_decay                scalar     of the first layer
        second_layer_weight_decay   scalar     of the output weights
        label_noise                 scalar     standard deviation of the label noise
        full_order                  scalar     1 with the terms of order learning_rate**2, 0 without

    Outputs, in place:
        d_student_overlap           (K, K, L)  time derivative
        d_cross_overlap             (K, M, L)  time derivative
        d_v                         (K)        time derivative
    """
    K = student_overlap.shape[0]
    M = teacher_overlap.shape[0]
    L = eigenvalue.shape[0]
    block_K_K = np.empty((3, K, K))
    Q = block_K_K[0]
    A = block_K_K[1]
    Gamma = block_K_K[2]
    block_K_M = np.empty((2, K, M))
    R = block_K_M[0]
    B = block_K_M[1]
    dv = np.empty(K)
    order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
    first_layer_gradients(Q, R, T, v, v_teacher, A, B)
    if second_layer_learning_rate != 0.0:
        second_layer_gradient(Q, R, T, v, v_teacher, dv)
    else:
        for i0 in range(K):
            dv[i0] = 0.0
    if full_order != 0.0:
        noise(Q, R, T, v, v_teacher, label_noise, Gamma)
    else:
        for i0 in range(K):
            for i1 in range(K):
                Gamma[i0, i1] = 0.0
    learning_rate_squared = learning_rate * learning_rate
    for i in range(K):
        for j in range(i + 1):
            learning_rate_squared_Gamma_ij = learning_rate_squared * Gamma[i, j]
            for k in range(L):
                sum_over_m = 0.0
                for m in range(M):
                    sum_over_m += (
                        B[i, m] * cross_overlap[j, m, k] + B[j, m] * cross_overlap[i, m, k]
                    )
                sum_over_p = 0.0
                for p in range(K):
                    sum_over_p += (
                        A[i, p] * student_overlap[j, p, k] + A[j, p] * student_overlap[i, p, k]
                    )
                d_student_overlap[i, j, k] = (
                    learning_rate_squared_Gamma_ij * eigenvalue[k]
                    - learning_rate * sum_over_m
                    - learning_rate * eigenvalue[k] * sum_over_p
                    - 2.0 * weight_decay * student_overlap[i, j, k]
                )
                d_student_overlap[j, i, k] = d_student_overlap[i, j, k]
        for n in range(M):
            for k in range(L):
                sum_over_m_2 = 0.0
                for m in range(M):
                    sum_over_m_2 += B[i, m] * teacher_overlap[n, m, k]
                sum_over_p_2 = 0.0
                for p in range(K):
                    sum_over_p_2 += A[i, p] * cross_overlap[p, n, k]
                d_cross_overlap[i, n, k] = (
                    -learning_rate * sum_over_m_2
                    - learning_rate * eigenvalue[k] * sum_over_p_2
                    - weight_decay * cross_overlap[i, n, k]
                )
        d_v[i] = -second_layer_learning_rate * dv[i] - second_layer_weight_decay * v[i]


def _array_at(context, builder, address, shape, sizes):
    """An array of floats that begins at an address, as compiled code has it."""
    array = arrayobj.make_array(_array_of(shape))(context, builder)
    parts = cgutils.unpack_tuple(builder, sizes)
    lengths = [context.cast(builder, n, t, types.intp) for n, t in zip(parts, shape, strict=True)]
    steps = [context.get_constant(types.intp, 8)]
    for length in lengths[:0:-1]:
        steps.insert(0, builder.mul(steps[0], length))
    arrayobj.populate_array(
        array, data=address, shape=lengths, strides=steps, itemsize=steps[-1], meminfo=None
    )
    return array._getvalue()


def _array_of(shape):
    return types.Array(types.float64, len(shape), "C")


@intrinsic
def _view(typing_context, vector, start, shape):
    """The numbers of a vector from ``start`` on as an array of that shape, not copied."""

    def view(context, builder, signature, arguments):
        vector, start, sizes = arguments
        numbers = arrayobj.make_array(signature.args[0])(context, builder, vector).data
        return _array_at(context, builder, builder.gep(numbers, [start]), shape, sizes)

    return _array_of(shape)(vector, types.intp, shape), view


@intrinsic(prefer_literal=True)
def _room(typing_context, count, shape):
    """An array on the stack, of a number of floats known at compile time."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    number = count.literal_value

    def allocate(context, builder, signature, arguments):
        address = cgutils.alloca_once(builder, context.get_data_type(types.float64), number)
        # a whole line of the cache, which is what the widest vector instructions want
        address.align = 64
        return _array_at(context, builder, address, signature.args[1], arguments[1])

    return _array_of(shape)(count, shape), allocate


@intrinsic
def _derivative_apart(typing_context):
    """Tell the compiler that the argument ``derivative`` of the function overlaps with no other
    array, so that it may read others and write there many numbers at a time.
    """

    def mark(context, builder, signature, arguments):
        for argument in builder.function.args:
            if argument.name.startswith("arg.derivative.") and argument.type == numbers:
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    numbers = cgutils.ir.DoubleType().as_pointer()
    return types.void(), mark


def specialised(K, M):
    """flat_right_hand_side for one set of sizes, compiled for them, with the signature that time
    steppers expect.

    sizes = [K, M, L]

    state = student_overlap (K, K, L), cross_overlap (K, M, L), v (K)

    parameters = eigenvalue (L), weight (L), teacher_overlap (M, M, L), T (M, M), v_teacher (M),
    learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
    full_order

    derivative is packed like the first vector and must not overlap with any other. alpha is the
    time.
    """
    if (K, M) in _SPECIALISED:
        return _SPECIALISED[K, M]
    parts = -(-(K + M) // 10)
    width_K = -(-K // parts)
    padded_K = parts * width_K
    width_M = -(-M // parts)
    padded_M = parts * width_M
    most = max(1, 56 // (width_K + width_M))
    groups_K = -(-K // most)
    rows_K = -(-K // groups_K)
    room_Q = K * K
    room_R = K * M
    room_A = K * K
    room_B = K * M
    room_dv = K
    room_Gamma = K * K
    room_scaled_B = K * padded_M
    room_scaled_A = K * padded_K
    room = room_Q + room_R + room_A + room_B + room_dv + room_Gamma + room_scaled_B + room_scaled_A
    if room > 262144:
        raise ValueError("the arrays of so many units do not fit on the stack")

    @njit(
        "void(float64, float64[::1], int64[::1], float64[::1], float64[::1])",
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "contract"},
    )
    def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
        number_K = min(K, sizes[0])
        number_M = min(M, sizes[1])
        L = sizes[2]
        start = 0
        student_overlap = _view(state, start, (K, K, L))
        start += K * K * L
        cross_overlap = _view(state, start, (K, M, L))
        start += K * M * L
        v = state[start : start + K]
        start += K
        if start != state.size:
            raise ValueError("state: its length does not agree with sizes")
        start = 0
        eigenvalue = parameters[start : start + L]
        start += L
        weight = parameters[start : start + L]
        start += L
        teacher_overlap = _view(parameters, start, (M, M, L))
        start += M * M * L
        T = _view(parameters, start, (M, M))
        start += M * M
        v_teacher = parameters[start : start + M]
        start += M
        learning_rate = parameters[start]
        start += 1
        second_layer_learning_rate = parameters[start]
        start += 1
        weight_decay = parameters[start]
        start += 1
        second_layer_weight_decay = parameters[start]
        start += 1
        label_noise = parameters[start]
        start += 1
        full_order = parameters[start]
        start += 1
        if start != parameters.size:
            raise ValueError("parameters: its length does not agree with sizes")
        _derivative_apart()
        start = 0
        d_student_overlap = _view(derivative, start, (K, K, L))
        start += K * K * L
        d_cross_overlap = _view(derivative, start, (K, M, L))
        start += K * M * L
        d_v = derivative[start : start + K]
        start += K
        if start != derivative.size:
            raise ValueError("derivative: its length does not agree with sizes")
        Q = _room(room_Q, (K, K))
        R = _room(room_R, (K, M))
        A = _room(room_A, (K, K))
        B = _room(room_B, (K, M))
        dv = _room(room_dv, (room_dv,))
        Gamma = _room(room_Gamma, (K, K))
        scaled_B = _room(room_scaled_B, (K, padded_M))
        scaled_A = _room(room_scaled_A, (K, padded_K))
        order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
        # first_layer_gradients: derivatives of the generalisation error by Q (one variable for Q_ij
        # and Q_ji) and R
        for i in range(K):
            v_i = v[i]
            for j in range(i + 1):
                A[i, j] = v_i * v[j]
                A[j, i] = A[i, j]
            for n in range(M):
                B[i, n] = -v_i * v_teacher[n]
        if second_layer_learning_rate != 0.0:
            # second_layer_gradient: derivatives of the generalisation error by v
            for i in range(K):
                Q_ii = Q[i, i]
                sum_over_m = 0.0
                for m in range(M):
                    sum_over_m += v_teacher[m] * i2(Q_ii, R[i, m], T[m, m])
                sum_over_p = 0.0
                for p in range(K):
                    sum_over_p += v[p] * i2(Q_ii, Q[i, p], Q[p, p])
                dv[i] = sum_over_p - sum_over_m
        else:
            for i0 in range(K):
                dv[i0] = 0.0
        if full_order != 0.0:
            # noise: mean of the product of two students' forces, with label noise
            label_noise_squared = label_noise * label_noise
            for i in range(K):
                for j in range(i + 1):
                    sum_over_p_2 = 0.0
                    for p in range(K):
                        sum_over_q = 0.0
                        for q in range(p + 1):
                            sum_over_q += (1.0 if p == q else 2.0) * Q[p, q] * v[q]
                        sum_over_m_2 = 0.0
                        for m in range(M):
                            sum_over_m_2 += R[p, m] * v_teacher[m]
                        sum_over_p_2 += v[p] * (sum_over_m_2 - 0.5 * sum_over_q)
                    sum_over_m_3 = 0.0
                    for m in range(M):
                        sum_over_n = 0.0
                        for n in range(m + 1):
                            sum_over_n += (1.0 if m == n else 2.0) * T[m, n] * v_teacher[n]
                        sum_over_m_3 += v_teacher[m] * sum_over_n
                    Gamma[i, j] = (
                        v[i] * v[j] * (label_noise_squared + sum_over_m_3 - 2.0 * sum_over_p_2)
                    )
                    Gamma[j, i] = Gamma[i, j]
        else:
            for i0 in range(K):
                for i1 in range(K):
                    Gamma[i0, i1] = 0.0
        for i in range(K):
            d_v[i] = -second_layer_learning_rate * dv[i] - second_layer_weight_decay * v[i]
        for i in range(K):
            for m in range(M):
                scaled_B[i, m] = -learning_rate * B[i, m]
            for m in range(M, padded_M):
                scaled_B[i, m] = 0.0
            for p in range(K):
                scaled_A[i, p] = -learning_rate * A[i, p]
            for p in range(K, padded_K):
                scaled_A[i, p] = 0.0
        for first in range(np.uint64(0), np.uint64(L), np.uint64(1024)):
            last = min(first + np.uint64(1024), np.uint64(L))
            for j in range(K):
                for group in range(groups_K):
                    begin = min(group * rows_K, K - rows_K)
                    for part in range(parts):
                        for k in range(first, last):
                            for row in range(rows_K):
                                if part == 0:
                                    before = 0.0
                                else:
                                    before = d_student_overlap[begin + row, j, k]
                                sum_over_p_3 = 0.0
                                for p in range(width_K):
                                    sum_over_p_3 += (
                                        scaled_A[begin + row, p + part * width_K]
                                        * student_overlap[j, min(K - 1, p + part * width_K), k]
                                    )
                                sum_over_m_4 = 0.0
                                for m in range(width_M):
                                    sum_over_m_4 += (
                                        cross_overlap[j, min(M - 1, m + part * width_M), k]
                                        * scaled_B[begin + row, m + part * width_M]
                                    )
                                d_student_overlap[begin + row, j, k] = (
                                    before + sum_over_m_4 + eigenvalue[k] * sum_over_p_3
                                )
            learning_rate_squared = learning_rate * learning_rate
            for i in range(K):
                for j in range(i + 1):
                    learning_rate_squared_Gamma_ij = learning_rate_squared * Gamma[i, j]
                    for k in range(first, last):
                        d_student_overlap[i, j, k] = (
                            learning_rate_squared_Gamma_ij * eigenvalue[k]
                            + d_student_overlap[i, j, k]
                            + d_student_overlap[j, i, k]
                        )
                        d_student_overlap[j, i, k] = d_student_overlap[i, j, k]
            if weight_decay != 0.0:
                for i in range(number_K):
                    for j in range(number_K):
                        for k in range(first, last):
                            d_student_overlap[i, j, k] = (
                                d_student_overlap[i, j, k]
                                - 2.0 * weight_decay * student_overlap[i, j, k]
                            )
            for n in range(M):
                for group in range(groups_K):
                    begin = min(group * rows_K, K - rows_K)
                    for part in range(parts):
                        for k in range(first, last):
                            for row in range(rows_K):
                                if part == 0:
                                    before = 0.0
                                else:
                                    before = d_cross_overlap[begin + row, n, k]
                                sum_over_p_4 = 0.0
                                for p in range(width_K):
                                    sum_over_p_4 += (
                                        cross_overlap[min(K - 1, p + part * width_K), n, k]
                                        * scaled_A[begin + row, p + part * width_K]
                                    )
                                sum_over_m_5 = 0.0
                                for m in range(width_M):
                                    sum_over_m_5 += (
                                        scaled_B[begin + row, m + part * width_M]
                                        * teacher_overlap[n, min(M - 1, m + part * width_M), k]
                                    )
                                d_cross_overlap[begin + row, n, k] = (
                                    before + sum_over_m_5 + eigenvalue[k] * sum_over_p_4
                                )
            if weight_decay != 0.0:
                for i in range(number_K):
                    for n in range(number_M):
                        for k in range(first, last):
                            d_cross_overlap[i, n, k] = (
                                d_cross_overlap[i, n, k] - weight_decay * cross_overlap[i, n, k]
                            )

    _SPECIALISED[K, M] = flat_right_hand_side
    return flat_right_hand_side


def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
    """The function that ``specialised`` makes for these sizes; to be called from Python."""
    specialised(int(sizes[0]), int(sizes[1]))(alpha, state, sizes, parameters, derivative)


def flat_observables(state, sizes, parameters, Q, R):
    """observables on flat vectors, to be called from Python.

    sizes = [K, M, L]

    state = student_overlap (K, K, L), cross_overlap (K, M, L), v (K)

    parameters = eigenvalue (L), weight (L), teacher_overlap (M, M, L), T (M, M), v_teacher (M),
    learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
    full_order
    """
    [K, M, L] = (int(size) for size in sizes)
    start = 0
    student_overlap = state[start : start + K * K * L].reshape(K, K, L)
    start += K * K * L
    cross_overlap = state[start : start + K * M * L].reshape(K, M, L)
    start += K * M * L
    v = state[start : start + K]
    start += K
    if start != state.size:
        raise ValueError("state: its length does not agree with sizes")
    start = 0
    eigenvalue = parameters[start : start + L]
    start += L
    weight = parameters[start : start + L]
    start += L
    start += M * M * L
    T = parameters[start : start + M * M].reshape(M, M)
    start += M * M
    v_teacher = parameters[start : start + M]
    start += M
    start += 6
    if start != parameters.size:
        raise ValueError("parameters: its length does not agree with sizes")
    order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
    error = generalization_error(Q, R, T, v, v_teacher)
    return error
